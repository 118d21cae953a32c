#include "zenoh_overrides.hpp"

#include <rcutils/logging.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace rmwbench {
namespace {

// The beginning of the warning in rmw_zenoh_cpp/src/detail/zenoh_config.cpp, in each release so
// far.
const char WARNING[] = "Ignore the invalid configuration";

std::mutex mutex;
std::string first;
rcutils_logging_output_handler_t others = nullptr;

void listen(const rcutils_log_location_t *location, int severity, const char *name,
            rcutils_time_point_value_t timestamp, const char *format, va_list *arguments) {
  char text[1024];
  va_list again;
  va_copy(again, *arguments);
  std::vsnprintf(text, sizeof text, format, again);
  va_end(again);
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (first.empty() && std::string(text).rfind(WARNING, 0) == 0) first = text;
  }
  if (others != nullptr) others(location, severity, name, timestamp, format, arguments);
}

}  // namespace

ZenohOverrides::ZenohOverrides() {
  // Otherwise the first logged line would initialise logging, and replace this handler.
  if (rcutils_logging_initialize() != RCUTILS_RET_OK) rcutils_reset_error();
  std::lock_guard<std::mutex> lock(mutex);
  first.clear();
  others = rcutils_logging_get_output_handler();
  rcutils_logging_set_output_handler(listen);
}

ZenohOverrides::~ZenohOverrides() {
  // A context that has begun has set rcl's own handler.
  if (rcutils_logging_get_output_handler() == listen) rcutils_logging_set_output_handler(others);
}

std::string ZenohOverrides::refused() const {
  std::lock_guard<std::mutex> lock(mutex);
  return first;
}

}  // namespace rmwbench
