#include "lifecycle.hpp"

#include <rmwbench_fault.hpp>

#include "beside.hpp"

namespace rmwbench {

const LifecycleLibrary &lifecycle_library() {
  constexpr char file[] = "librmwbench_rclcpp_lifecycle.so";
  static std::string why;
  static const auto *const found =
      static_cast<const LifecycleLibrary *>(beside(file, "rmwbench_rclcpp_lifecycle", why));
  if (found == nullptr) throw Fault{RMWBENCH_ERROR_FAILED, file, why};
  return *found;
}

}  // namespace rmwbench
