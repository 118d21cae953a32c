// wait=block: one thread in one WaitSet for all readers of the session.
//
// Only that thread looks at the set of readers, so a message takes no lock of ours. Changes are handed over: the caller wakes
// the thread with a guard condition and waits until it has taken the change, which is also the proof that no delivery of a removed
// reader is still under way.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <fastdds/dds/core/condition/GuardCondition.hpp>
#include <fastdds/dds/core/condition/WaitSet.hpp>

#include "fastdds_api.hpp"

namespace rmwbench {

class Reader;

class Blocker {
 public:
  ~Blocker() { stop(); }
  void add(Reader &reader);
  void remove(Reader &reader);
  void stop();

 private:
  enum class Change { none, add, remove, stop };

  void hand_over(Change change, Reader *reader);
  bool take_change(std::vector<Reader *> &unfinished);
  void run();

  fd::WaitSet set_;
  fd::GuardCondition changed_;
  std::unordered_map<const fd::Condition *, Reader *> readers_;

  std::mutex callers_;  // one change at a time
  std::mutex mutex_;
  std::condition_variable taken_;
  Change change_ = Change::none;
  Reader *subject_ = nullptr;
  std::atomic<bool> pending_{false};  // a change waits: read between two messages, so that nobody waits for the end of traffic
  std::thread thread_;
};

}  // namespace rmwbench
