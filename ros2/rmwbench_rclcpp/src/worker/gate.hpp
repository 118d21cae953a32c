// The end of a reader: a thread that closes the gate waits for every callback that is inside,
// however long it keeps its message.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rmwbench {

class Gate {
 public:
  // A callback holds it while it delivers. If it is false, nothing may be delivered.
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

  // After it returns, nothing is delivered, and nothing is being delivered. It has no time-out,
  // because the sink is freed after it. Do not call it within a delivery.
  void close() {
    closed_.store(true);
    std::unique_lock<std::mutex> lock(mutex_);
    left_.wait(lock, [this] { return inside_.load() == 0; });
  }

 private:
  // Sequentially consistent on both sides: either the closing thread sees the entering one, or the
  // entering one sees that the gate is closed.
  bool enter() {
    inside_.fetch_add(1);
    if (!closed_.load()) return true;
    leave();
    return false;
  }

  void leave() {
    if (inside_.fetch_sub(1) == 1 && closed_.load()) {
      std::lock_guard<std::mutex> lock(
          mutex_);  // the closing thread has yet to read the count, or sleeps
      left_.notify_all();
    }
  }

  std::atomic<bool> closed_{false};
  std::atomic<int64_t> inside_{0};
  std::mutex mutex_;
  std::condition_variable left_;
};

}  // namespace rmwbench
