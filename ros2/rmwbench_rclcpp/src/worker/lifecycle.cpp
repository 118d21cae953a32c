#include "lifecycle.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "fault.hpp"

namespace rmwbench {

const LifecycleLibrary &lifecycle_library() {
  constexpr char name[] = "librmwbench_rclcpp_lifecycle.so";
  static std::string why = "cannot be loaded";  // dlerror tells it once only
  static const LifecycleLibrary *const found = [&]() -> const LifecycleLibrary * {
    Dl_info self;
    if (dladdr(reinterpret_cast<const void *>(&lifecycle_library), &self) == 0) return nullptr;
    const auto path = std::filesystem::path(self.dli_fname).parent_path() / name;
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const void *made = library != nullptr ? dlsym(library, "rmwbench_rclcpp_lifecycle") : nullptr;
    if (const char *error = dlerror(); error != nullptr) why = error;
    return static_cast<const LifecycleLibrary *>(made);
  }();
  if (found == nullptr) throw Fault{RMWBENCH_ERROR_FAILED, name, why};
  return *found;
}

}  // namespace rmwbench
