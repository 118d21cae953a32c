// For workers in C++: errors as exceptions inside, as rmwbench_error outside. No exception may
// leave a function that the harness calls, nor a callback of a middleware's own thread: behind the
// first is Rust, which cannot catch one. Each runs in one of the three below.
#pragma once

#include <errno.h>

#include <cstdio>
#include <exception>
#include <string>

#include "rmwbench_worker.h"

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

// Runs `create`; whatever it throws becomes `error`, of `object` where what is thrown names none,
// and NULL.
template <typename Create>
auto guarded(rmwbench_error *error, const char *object, Create create) noexcept
    -> decltype(create()) {
  try {
    return create();
  } catch (const Fault &fault) {
    fill(error, fault.kind, fault.object.c_str(), fault.message.c_str());
  } catch (const std::exception &exception) {
    fill(error, RMWBENCH_ERROR_FAILED, object, exception.what());
  } catch (...) {
    fill(error, RMWBENCH_ERROR_FAILED, object, "an exception that is no std::exception");
  }
  return nullptr;
}

template <typename Create>
auto guarded(rmwbench_error *error, Create create) noexcept -> decltype(create()) {
  return guarded(error, "", create);
}

// Runs what may not fail towards the harness; what it throws all the same is told on stderr, and
// the harness hears nothing of it.
template <typename Tell>
auto told(Tell tell) noexcept -> decltype(tell()) {
  const char *program = program_invocation_short_name;
  try {
    return tell();
  } catch (const Fault &fault) {
    std::fprintf(stderr, "%s: %s: %s\n", program, fault.object.c_str(), fault.message.c_str());
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "%s: %s\n", program, exception.what());
  } catch (...) {
    std::fprintf(stderr, "%s: an exception that is no std::exception\n", program);
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
