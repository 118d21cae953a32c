#include "lifecycle.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "fault.hpp"

namespace rmwbench {

const LifecycleLibrary &lifecycle_library() {
  constexpr char name[] = "librmwbench_rclcpp_lifecycle.so";
  static const LifecycleLibrary *const found = [&]() -> const LifecycleLibrary * {
    Dl_info self;
    if (dladdr(reinterpret_cast<const void *>(&lifecycle_library), &self) == 0) return nullptr;
    const auto path = std::filesystem::path(self.dli_fname).parent_path() / name;
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return library != nullptr ? static_cast<const LifecycleLibrary *>(dlsym(library, "rmwbench_rclcpp_lifecycle")) : nullptr;
  }();
  if (found == nullptr) {
    const char *why = dlerror();
    throw Fault{RMWBENCH_ERROR_FAILED, name, why != nullptr ? why : "cannot be loaded"};
  }
  return *found;
}

}  // namespace rmwbench
