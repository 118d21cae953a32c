// Errors inside are exceptions; at the C boundary they become the header's struct, whatever was
// thrown.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include <rmwbench_worker.h>

namespace rmwbench {

struct Fault {
  int32_t kind;
  std::string object;
  std::string message;
};

inline std::string endpoint_name(uint32_t endpoint) {
  return "endpoint " + std::to_string(endpoint);
}

inline void tell(rmwbench_error *error, int32_t kind, const std::string &object,
                 const std::string &message) {
  error->kind = kind;
  std::snprintf(error->object, sizeof error->object, "%s", object.c_str());
  std::snprintf(error->message, sizeof error->message, "%s", message.c_str());
}

// The result of `create`, or nullptr with `error` filled.
template <class Create>
auto guarded(rmwbench_error *error, const char *object, Create create) -> decltype(create()) {
  try {
    return create();
  } catch (const Fault &fault) {
    tell(error, fault.kind, fault.object, fault.message);
  } catch (const std::exception &thrown) {
    tell(error, RMWBENCH_ERROR_FAILED, object, thrown.what());
  } catch (...) {
    tell(error, RMWBENCH_ERROR_FAILED, object, "an exception that is not a std::exception");
  }
  return nullptr;
}

// Runs what may not fail towards the harness; what it throws all the same goes to stderr, and the
// harness hears nothing of it. No exception crosses the C boundary: behind it is Rust, which cannot
// catch one.
template <class Tell>
auto told(Tell tell) noexcept -> decltype(tell()) {
  try {
    return tell();
  } catch (const Fault &fault) {
    std::fprintf(stderr, "rmwbench-rclcpp: %s: %s\n", fault.object.c_str(), fault.message.c_str());
  } catch (const std::exception &thrown) {
    std::fprintf(stderr, "rmwbench-rclcpp: %s\n", thrown.what());
  } catch (...) {
    std::fprintf(stderr, "rmwbench-rclcpp: an exception that is no std::exception\n");
  }
  return decltype(tell())();
}

}  // namespace rmwbench
