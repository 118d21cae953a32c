#include "worker_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include <rmwbench_fault.hpp>

namespace rmwbench {
namespace {

// The path of a file in the program's own directory.
std::string beside(const char *name) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path() / name).string();
}

void *load(const char *name) {
  void *handle = dlopen(beside(name).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    const char *why = dlerror();
    throw Fault{
        RMWBENCH_ERROR_FAILED, name,
        std::string(why != nullptr ? why : "cannot be loaded") +
            "; is the ROS 2 sourced that this worker was built with (" RMWBENCH_BUILT_AGAINST ")?"};
  }
  return handle;
}

}  // namespace

const WorkerLibrary &load_worker_library(bool layers) {
  static const bool first_with_layers = layers;
  static const WorkerLibrary *library = [] {
    if (first_with_layers) load("librmwbench_rclcpp_layers.so");
    return static_cast<const WorkerLibrary *>(
        dlsym(load("librmwbench_rclcpp_worker.so"), "rmwbench_rclcpp_worker"));
  }();
  if (library == nullptr)
    throw Fault{RMWBENCH_ERROR_FAILED, "librmwbench_rclcpp_worker.so", "it lacks its table"};
  if (layers != first_with_layers)
    throw Fault{RMWBENCH_ERROR_INVALID, "option layers",
                "this process was opened otherwise before"};
  return *library;
}

}  // namespace rmwbench
