#include "publish_mode.hpp"

#include <rmwbench_worker.h>

#include "fastrtps.hpp"
#include "settings.hpp"

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

}  // namespace rmwbench
