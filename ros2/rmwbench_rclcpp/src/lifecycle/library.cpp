#include "lifecycle/role.hpp"

extern "C" __attribute__((visibility("default")))
const rmwbench::LifecycleLibrary rmwbench_rclcpp_lifecycle = {
    rmwbench::make_lifecycle_node,
    rmwbench::make_manager,
};
