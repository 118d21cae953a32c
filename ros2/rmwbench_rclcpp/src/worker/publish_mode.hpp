// Synchronous or asynchronous publishing, by each RMW's own means.
//
// rmw_fastrtps has it per participant, from RMW_FASTRTPS_PUBLICATION_MODE, which is set before the
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

// A client's requests: rcl shows no writer of theirs, so rmw_fastrtps's mode is what the process
// was given. Throws Fault where the RMW does not have the `asked` one.
PublishModeFound publish_mode_of_client(const Settings &settings, int32_t asked,
                                        const std::string &object);

}  // namespace rmwbench
