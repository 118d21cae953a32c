// The worker's description of itself: version, capabilities, modes. The Rust side embeds the
// profiles, because it has include_str!.
#pragma once

#include <rmwbench_worker.h>

namespace rmwbench {

const rmwbench_description *description();

}  // namespace rmwbench
