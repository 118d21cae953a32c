// One thread that takes by itself, for all of a session: it blocks on an rclcpp::WaitSet, or it
// spins over take().
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <rclcpp/rclcpp.hpp>

namespace rmwbench {

// What the loop takes from. One of the three is there.
struct Source {
  rclcpp::SubscriptionBase::SharedPtr subscription;
  rclcpp::ClientBase::SharedPtr client;
  rclcpp::ServiceBase::SharedPtr service;
  // Takes one and delivers it; false when there was none. The loop's stamp of notification is set.
  // As for an executor, an RCLError is logged, and nothing was taken.
  std::function<bool()> take;
};

class TakeLoop {
 public:
  TakeLoop(const rclcpp::Context::SharedPtr &context, bool poll);
  ~TakeLoop();

  // Returns what remove() wants.
  const Source *add(Source source);
  // After it, `take` runs no more and the loop holds nothing of it.
  void remove(const Source *source);

 private:
  using Sources = std::vector<std::shared_ptr<const Source>>;

  void run();
  void changed(std::unique_lock<std::mutex> &lock);
  void block_on(const Sources &sources, uint64_t version);
  // Takes and delivers up to RMWBENCH_TURN messages, fewer where the sources changed meanwhile.
  // `notified_ns` 0: nobody waits.
  void turn(const Source &source, int64_t notified_ns, uint64_t version);

  const rclcpp::Context::SharedPtr context_;
  const bool poll_;
  const rclcpp::GuardCondition::SharedPtr wake_;
  std::mutex mutex_;
  std::condition_variable seen_;
  Sources sources_;
  std::atomic<uint64_t> version_{0};
  uint64_t acknowledged_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace rmwbench
