#include "inbox.hpp"

namespace rmwbench {

void Inbox::arrive(int64_t called_ns, const uint8_t *payload, size_t bytes, bool intra_process,
                   bool loaned, bool lossy) {
  const Gate::Pass pass(gate_);
  if (!pass) return;
  if (intra_process) intra_process_.fetch_add(1, std::memory_order_relaxed);
  if (loaned) loaned_.fetch_add(1, std::memory_order_relaxed);
  spans_.take(payload, bytes);
  const uint8_t nothing = 0;
  const uint8_t *data = payload != nullptr ? payload : &nothing;
  // An executor does not report when it was woken or took the message: the beginning of its
  // callback is the first known time.
  const rmwbench_delivery delivery{called_ns, called_ns,      data,
                                   bytes,     loaned ? 1 : 0, lossy ? 1 : 0};
  sink_.deliver(sink_.context, &delivery);
}

void Inbox::account(const rmwbench_account &account) const {
  const uint64_t intra = intra_process_.load(std::memory_order_relaxed);
  if (intra > 0)
    account.evidence(account.context, "intra_process", intra,
                     "rclcpp's message info says from_intra_process");
  const uint64_t loaned = loaned_.load(std::memory_order_relaxed);
  if (loaned > 0) account.counter(account.context, "taken_as_loan", static_cast<int64_t>(loaned));
}

}  // namespace rmwbench
