// Errors as exceptions inside the shim, as rmwbench_error outside: thrown while something is
// created. No exception leaves the shim: each function of the table that may throw runs in one of
// the three below.
#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

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

inline void fill(rmwbench_error *error, int32_t kind, const char *object, const char *message) {
  error->kind = kind;
  std::snprintf(error->object, sizeof error->object, "%s", object);
  std::snprintf(error->message, sizeof error->message, "%s", message);
}

// Runs `create`; whatever it throws becomes `error` and NULL.
template <typename Create>
auto guarded(rmwbench_error *error, Create create) noexcept -> decltype(create()) {
  try {
    return create();
  } catch (const Fault &fault) {
    fill(error, fault.kind, fault.object.c_str(), fault.message.c_str());
  } catch (const std::exception &exception) {
    fill(error, RMWBENCH_ERROR_FAILED, "", exception.what());
  } catch (...) {
    fill(error, RMWBENCH_ERROR_FAILED, "", "an exception without words");
  }
  return nullptr;
}

// Runs what may not fail towards the harness; what it throws all the same is told on stderr, and
// nothing is told of it to the harness.
template <typename Tell>
auto told(Tell tell) noexcept -> decltype(tell()) {
  try {
    return tell();
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "rmwbench-fastdds: %s\n", exception.what());
  } catch (...) {
    std::fprintf(stderr, "rmwbench-fastdds: an exception without words\n");
  }
  return decltype(tell())();
}

// Runs a call in the path of a message: whatever it throws, it failed.
template <typename Send>
rmwbench_status sent(Send send) noexcept {
  try {
    return send();
  } catch (...) {
    return RMWBENCH_FAILED;
  }
}

}  // namespace rmwbench
