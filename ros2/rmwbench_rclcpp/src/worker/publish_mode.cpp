#include "publish_mode.hpp"

#include <optional>

#include <rmwbench_worker.h>
#include <rmwbench_fault.hpp>

#include "fastrtps.hpp"

namespace rmwbench {
namespace {

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

// The mode of RMWs that have only one.
std::optional<PublishModeFound> only_mode_of(const std::string &rmw) {
  if (rmw == "rmw_cyclonedds_cpp")
    return {{RMWBENCH_PUBLISH_SYNC,
             "publish mode: Cyclone DDS sends in the publishing thread, it has no other way"}};
  if (rmw == "rmw_zenoh_cpp")
    return {{RMWBENCH_PUBLISH_ASYNC,
             "publish mode: Zenoh's put hands the message to the link's sending task, it has no "
             "other way"}};
  return std::nullopt;
}

}  // namespace

PublishModeFound publish_mode_of(const rclcpp::PublisherBase &publisher, const std::string &rmw) {
  if (is_fastrtps(rmw)) return of_fastrtps(publisher, rmw);
  return only_mode_of(rmw).value_or(
      PublishModeFound{RMWBENCH_PUBLISH_DEFAULT, "publish mode: not known of this RMW"});
}

PublishModeFound publish_mode_of_client(const Settings &settings, int32_t asked,
                                        const std::string &object) {
  const PublishModeFound found =
      only_mode_of(settings.rmw)
          .value_or(PublishModeFound{settings.publish_mode,
                                     is_fastrtps(settings.rmw)
                                         ? "publish mode: the process's, by "
                                           "RMW_FASTRTPS_PUBLICATION_MODE; it cannot be read "
                                           "back of a client"
                                         : "publish mode: not known of this RMW"});
  if (asked != RMWBENCH_PUBLISH_DEFAULT && found.mode != asked)
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object, found.note};
  return found;
}

}  // namespace rmwbench
