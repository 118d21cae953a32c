// The part of the worker that needs rclcpp is a library that is loaded when a session opens. So
// `--describe` and daemons run without it, the environment is set before any part of ROS 2 is in
// the process, and the layers library can be loaded before rcl, so that rclcpp and rcl find its
// functions first.
#pragma once

#include "settings.hpp"

namespace rmwbench {

// Loads it once. Throws Fault.
const WorkerLibrary &load_worker_library(bool layers);

}  // namespace rmwbench
