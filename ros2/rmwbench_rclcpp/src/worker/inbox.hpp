// Where messages and replies arrive, in an executor's callback.
#pragma once

#include <atomic>
#include <memory>

#include <rmwbench_worker.h>

#include "gate.hpp"
#include "spans.hpp"

namespace rmwbench {

class Inbox {
 public:
  Inbox(const rmwbench_sink &sink, uint32_t endpoint) : sink_(sink), spans_(endpoint) {}

  // `called_ns`: when the callback began, before it read anything of the message: what it does to
  // find the payload is ours and in nobody's latency. `loaned`: read in the middleware's memory.
  // `intra_process`: by rclcpp's own word. `lossy`: not the bytes that were published.
  void arrive(int64_t called_ns, const uint8_t *payload, size_t bytes, bool intra_process,
              bool loaned, bool lossy = false);
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
