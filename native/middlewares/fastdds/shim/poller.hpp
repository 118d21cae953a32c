// wait=poll: one spinning thread takes from all subscriptions of the session in turn.
//
// Changes are handed over as in the blocker, through a flag that the spinning thread reads once per round.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

struct rmwbench_subscription;

namespace rmwbench {

class Poller {
 public:
  ~Poller() { stop(); }
  void add(rmwbench_subscription &subscription);
  void remove(rmwbench_subscription &subscription);
  void stop();

 private:
  using Subscriptions = std::vector<rmwbench_subscription *>;

  void hand_over(Subscriptions next);
  void run();

  std::mutex callers_;
  Subscriptions wanted_;                           // as the callers see it
  Subscriptions polled_;                           // the thread's own
  std::atomic<Subscriptions *> next_{nullptr};     // taken when null again
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace rmwbench
