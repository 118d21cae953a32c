// wait=poll: one spinning thread takes from all readers of the session in turn.
//
// Changes are handed over as in the blocker, through a flag that the spinning thread reads once per round.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace rmwbench {

class Reader;

class Poller {
 public:
  ~Poller() { stop(); }
  void add(Reader &reader);
  void remove(Reader &reader);
  void stop();

 private:
  using Readers = std::vector<Reader *>;

  void hand_over(Readers next);
  void run();

  std::mutex callers_;
  Readers wanted_;                           // as the callers see it
  Readers polled_;                           // the thread's own
  std::atomic<Readers *> next_{nullptr};     // taken when null again
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace rmwbench
