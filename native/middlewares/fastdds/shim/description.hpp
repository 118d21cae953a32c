// What the worker tells of itself: version, capabilities, modes. The profiles are embedded by the
// Rust side, where include_str! is.
#pragma once

#include <rmwbench_worker.h>

namespace rmwbench {

const rmwbench_description *description();

}  // namespace rmwbench
