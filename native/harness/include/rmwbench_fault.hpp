// For workers in C++: an error is an exception inside the worker and an rmwbench_error outside. No
// exception may leave a function that the harness calls, because Rust cannot catch it; nor may one
// leave a callback that a middleware's own thread calls. Each such function runs in one of the
// three functions below.
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

// Runs `create` and returns its result. If it throws, fills `error` and returns NULL; `object` is
// the error's object where the exception names none.
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

// Runs a function that cannot report a failure to the harness. If it throws all the same, the error
// is printed to stderr and the harness does not learn of it.
template <typename Body>
auto infallible(Body body) noexcept -> decltype(body()) {
  const char *program = program_invocation_short_name;
  try {
    return body();
  } catch (const Fault &fault) {
    std::fprintf(stderr, "%s: %s: %s\n", program, fault.object.c_str(), fault.message.c_str());
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "%s: %s\n", program, exception.what());
  } catch (...) {
    std::fprintf(stderr, "%s: an exception that is no std::exception\n", program);
  }
  return decltype(body())();
}

// Runs a call in the path of a message: any exception means that the call failed.
template <typename Send>
rmwbench_status sent(Send send) noexcept {
  try {
    return send();
  } catch (...) {
    return RMWBENCH_FAILED;
  }
}

}  // namespace rmwbench
