// The times at which one message in one thread passes the interposed functions. The numbers are
// those of the record format (SPAN).
#pragma once

#include <cstdint>

namespace rmwbench {

// A name that ends in _return is the end of that call, the others are beginnings.
enum Layer : uint32_t {
  LAYER_RCL_PUBLISH = 1,
  LAYER_RMW_PUBLISH = 2,
  LAYER_MIDDLEWARE_WRITE = 3,
  LAYER_MIDDLEWARE_WRITE_RETURN = 4,
  LAYER_RMW_PUBLISH_RETURN = 5,
  LAYER_RCL_PUBLISH_RETURN = 6,
  LAYER_RMW_WAIT_RETURN = 7,
  LAYER_RCL_WAIT_RETURN = 8,
  LAYER_RCL_TAKE = 9,
  LAYER_RMW_TAKE = 10,
  LAYER_RMW_TAKE_RETURN = 11,
  LAYER_RCL_TAKE_RETURN = 12,
  LAYER_COUNT = 13
};

struct Marks {
  int64_t time_ns[LAYER_COUNT];
  uint32_t set;  // one bit per layer
};

}  // namespace rmwbench

// The marks of the calling thread; the function is found by name in the layers library.
extern "C" rmwbench::Marks *rmwbench_layers_marks();
