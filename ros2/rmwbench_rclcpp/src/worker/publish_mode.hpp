// Synchronous or asynchronous publishing, by each RMW's own means.
//
// rmw_fastrtps sets it per participant, from RMW_FASTRTPS_PUBLICATION_MODE, which is set before the
// session opens (program/environment.cpp); the mode in force is read back from the writer. The
// others have one way only.
#pragma once

#include <string>

#include <rclcpp/rclcpp.hpp>

#include "settings.hpp"

namespace rmwbench {

struct PublishModeFound {
  int32_t mode;  // RMWBENCH_PUBLISH_…
  std::string note;
};

PublishModeFound publish_mode_of(const rclcpp::PublisherBase &publisher, const std::string &rmw);

// The mode of a client's requests: rcl gives no access to their writer, so rmw_fastrtps's mode is
// the one that was set for the process. Throws Fault if the RMW does not have the `asked` mode.
PublishModeFound publish_mode_of_client(const Settings &settings, int32_t asked,
                                        const std::string &object);

}  // namespace rmwbench
