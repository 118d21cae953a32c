// Libraries that stand beside this one: each has one part of ROS 2 behind it, which only the trials
// that use it load.
#pragma once

#include <string>

namespace rmwbench {

// `symbol` of the library `file` ("librmwbench_rclcpp_….so"), which is loaded and stays so; NULL
// with the reason in `why`.
void *beside(const std::string &file, const char *symbol, std::string &why);

}  // namespace rmwbench
