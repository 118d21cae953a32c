// The library of lifecycle nodes, which stands beside this one where the worker was built with
// rclcpp_lifecycle.
#pragma once

#include "lifecycle/role.hpp"

namespace rmwbench {

// Loads it once. Throws Fault.
const LifecycleLibrary &lifecycle_library();

}  // namespace rmwbench
