// The end of a reader: who closes the gate waits for every callback that is inside, however long it
// keeps its message.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rmwbench {

class Gate {
 public:
  // Held by a callback while it delivers. Nothing may be delivered where it is false.
  class Pass {
   public:
    explicit Pass(Gate &gate) : gate_(gate), open_(gate.enter()) {}
    ~Pass() {
      if (open_) gate_.leave();
    }
    Pass(const Pass &) = delete;
    Pass &operator=(const Pass &) = delete;
    explicit operator bool() const { return open_; }

   private:
    Gate &gate_;
    const bool open_;
  };

  // After it nothing is delivered, and nothing is being delivered. It has no deadline: the sink is
  // freed behind it. Not to be called from within a delivery.
  void close() {
    closed_.store(true);
    std::unique_lock<std::mutex> lock(mutex_);
    left_.wait(lock, [this] { return inside_.load() == 0; });
  }

 private:
  // Sequentially consistent on both sides: either the closer sees who entered, or who enters sees
  // that it is closed.
  bool enter() {
    inside_.fetch_add(1);
    if (!closed_.load()) return true;
    leave();
    return false;
  }

  void leave() {
    if (inside_.fetch_sub(1) == 1 && closed_.load()) {
      std::lock_guard<std::mutex> lock(
          mutex_);  // the closer is before its look at the count, or asleep
      left_.notify_all();
    }
  }

  std::atomic<bool> closed_{false};
  std::atomic<int64_t> inside_{0};
  std::mutex mutex_;
  std::condition_variable left_;
};

}  // namespace rmwbench
