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

  // `called_ns`: when the callback began, before it read anything of the message: the time to find
  // the payload is the instrument's and is in no latency. `loaned`: the payload is read in the
  // middleware's memory. `intra_process`: rclcpp reports that the message came within the process.
  // `lossy`: the bytes differ from the published ones.
  void arrive(int64_t called_ns, const uint8_t *payload, size_t bytes, bool intra_process,
              bool loaned, bool lossy = false);
  // After it returns, nothing is delivered, and nothing is being delivered: it waits for the
  // callbacks that are under way.
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
