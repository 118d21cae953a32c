// The part of the worker that needs rclcpp is a library that is loaded when a session opens. So
// `--describe` and daemons run without it, the environment is set before any of ROS 2 is in the
// process, and the layers library can come before rcl, which is what makes its functions the ones
// that rclcpp and rcl find.
#pragma once

#include "settings.hpp"

namespace rmwbench {

// Loads it once. Throws Fault.
const WorkerLibrary &load_worker_library(bool layers);

}  // namespace rmwbench
