// The library of lifecycle nodes, which is in this library's directory if the worker was built with
// rclcpp_lifecycle.
#pragma once

#include "lifecycle/role.hpp"

namespace rmwbench {

// Loads it once. Throws Fault.
const LifecycleLibrary &lifecycle_library();

}  // namespace rmwbench
