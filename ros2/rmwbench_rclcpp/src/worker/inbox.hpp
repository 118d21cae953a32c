// Where messages and replies arrive, whoever brings them: an executor's callback, the wait-set thread or the polling thread.
#pragma once

#include <atomic>
#include <memory>

#include <rmwbench_worker.h>

#include "spans.hpp"

namespace rmwbench {

// Set by our own loops around a take, so that the callback need not stamp; zero in an executor's thread.
struct LoopStamps {
  int64_t notified_ns = 0;
  int64_t taken_ns = 0;
};

LoopStamps &loop_stamps();

class Inbox {
 public:
  Inbox(const rmwbench_sink &sink, uint32_t endpoint) : sink_(sink), spans_(endpoint) {}

  // `loaned`: read in the middleware's memory. `intra_process`: by rclcpp's own word.
  void arrive(const uint8_t *payload, size_t bytes, bool intra_process, bool loaned);
  // After it, nothing that begins to arrive is delivered.
  void close() { closed_.store(true, std::memory_order_release); }

  void account(const rmwbench_account &account) const;

 private:
  const rmwbench_sink sink_;
  TakeSpans spans_;
  std::atomic<bool> closed_{false};
  std::atomic<uint64_t> intra_process_{0};
  std::atomic<uint64_t> loaned_{0};
};

}  // namespace rmwbench
