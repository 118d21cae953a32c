#include "publish_mode.hpp"

#include <cstdlib>
#include <mutex>

#include "fastrtps.hpp"
#include "fault.hpp"

namespace rmwbench {
namespace {

constexpr char variable[] = "RMW_FASTRTPS_PUBLICATION_MODE";

PublishModeFound of_fastrtps(const rclcpp::PublisherBase &publisher, const std::string &rmw) {
  using Asks = int (*)(rmw_publisher_t *);
  static const auto ask =
      reinterpret_cast<Asks>(ask_fastrtps(rmw, "rmwbench_fastrtps_publishes_asynchronously"));
  if (ask != nullptr) {
    const int async = ask(rcl_publisher_get_rmw_handle(publisher.get_publisher_handle().get()));
    if (async >= 0) {
      return {async != 0 ? RMWBENCH_PUBLISH_ASYNC : RMWBENCH_PUBLISH_SYNC,
              std::string("publish mode: ") + (async != 0 ? "asynchronous" : "synchronous") +
                  ", read from Fast DDS's writer"};
    }
  }
  return {RMWBENCH_PUBLISH_DEFAULT,
          "publish mode: cannot be read back, this worker was built without " + rmw};
}

}  // namespace

PublishModeFound publish_mode_of(const rclcpp::PublisherBase &publisher, const std::string &rmw) {
  if (is_fastrtps(rmw)) return of_fastrtps(publisher, rmw);
  if (rmw == "rmw_cyclonedds_cpp")
    return {RMWBENCH_PUBLISH_SYNC,
            "publish mode: Cyclone DDS sends in the publishing thread, it has no other way"};
  if (rmw == "rmw_zenoh_cpp")
    return {RMWBENCH_PUBLISH_ASYNC,
            "publish mode: Zenoh's put hands the message to the link's sending task, it has no "
            "other way"};
  return {RMWBENCH_PUBLISH_DEFAULT, "publish mode: not known of this RMW"};
}

rclcpp::Node::SharedPtr with_asynchronous_publishing(rmwbench_node &node,
                                                     const std::string &object) {
  const Settings &settings = node.session.settings;
  if (!is_fastrtps(settings.rmw))
    return node.node;  // its one way is compared with what was asked once the publisher exists
  if (settings.intra_process) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object,
                "publish_mode async: messages of the own process pass no writer of the middleware"};
  }
  // rmw_fastrtps reads the variable when a context makes its participant, which is at its first
  // node.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  const char *set = std::getenv(variable);
  const std::string before = set != nullptr ? set : "";
  setenv(variable, "ASYNCHRONOUS", 1);
  struct Restore {
    const std::string &before;
    ~Restore() { before.empty() ? unsetenv(variable) : setenv(variable, before.c_str(), 1); }
  } restore{before};
  return node.asynchronous();
}

}  // namespace rmwbench
