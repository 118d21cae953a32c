// Where messages and replies arrive, whoever brings them: an executor's callback, the wait-set
// thread or the polling thread.
#pragma once

#include <atomic>
#include <memory>

#include <rmwbench_worker.h>

#include "gate.hpp"
#include "spans.hpp"

namespace rmwbench {

// Set by our own loops around a take, so that the callback need not stamp; zero in an executor's
// thread.
struct LoopStamps {
  int64_t notified_ns = 0;
  int64_t taken_ns = 0;
};

LoopStamps &loop_stamps();

class Inbox {
 public:
  Inbox(const rmwbench_sink &sink, uint32_t endpoint) : sink_(sink), spans_(endpoint) {}

  // `loaned`: read in the middleware's memory. `intra_process`: by rclcpp's own word. `lossy`: not
  // the bytes that were published.
  void arrive(const uint8_t *payload, size_t bytes, bool intra_process, bool loaned,
              bool lossy = false);
  // After it nothing is delivered, and nothing is being delivered: waits for the callbacks that are
  // under way.
  void close() { gate_.close(); }

  void account(const rmwbench_account &account) const;

 private:
  const rmwbench_sink sink_;
  TakeSpans spans_;
  Gate gate_;
  std::atomic<uint64_t> intra_process_{0};
  std::atomic<uint64_t> loaned_{0};
};

}  // namespace rmwbench
