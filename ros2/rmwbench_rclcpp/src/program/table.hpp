#pragma once

#include <rmwbench_worker.h>

namespace rmwbench {

extern const rmwbench_middleware table;

}  // namespace rmwbench
