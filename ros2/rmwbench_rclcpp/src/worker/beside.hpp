// Libraries in the same directory as this one: each links one part of ROS 2, which only the trials
// that use it load.
#pragma once

#include <string>

namespace rmwbench {

// The symbol `symbol` of the library `file` ("librmwbench_rclcpp_….so"), which is loaded and stays
// loaded; NULL with the reason in `why`.
void *beside(const std::string &file, const char *symbol, std::string &why);

}  // namespace rmwbench
