// Layer times of traced trials: the times at which a message passed the interposed functions are
// recorded with the message's number. Without the layers library everything here does nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rmwbench_worker.h>

namespace rmwbench {

// Lives around a publish call.
class PublishSpans {
 public:
  explicit PublishSpans(uint32_t endpoint);
  void begin() const;
  void end(const uint8_t *payload, size_t bytes) const;

 private:
  const rmwbench_spans *section_;
};

// Lives in a callback.
class TakeSpans {
 public:
  explicit TakeSpans(uint32_t endpoint);
  void take(const uint8_t *payload, size_t bytes) const;

 private:
  const rmwbench_spans *section_;
};

}  // namespace rmwbench
