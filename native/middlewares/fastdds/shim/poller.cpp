#include "poller.hpp"

#include <algorithm>

#include "reader.hpp"

namespace rmwbench {

void Poller::add(Reader &reader) {
  std::lock_guard<std::mutex> lock(callers_);
  wanted_.push_back(&reader);
  hand_over(wanted_);
}

void Poller::remove(Reader &reader) {
  std::lock_guard<std::mutex> lock(callers_);
  wanted_.erase(std::find(wanted_.begin(), wanted_.end(), &reader));
  hand_over(wanted_);
}

void Poller::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  thread_.join();
}

void Poller::hand_over(Readers next) {
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
  next_.store(&next, std::memory_order_release);
  while (next_.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
}

void Poller::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (Readers *next = next_.load(std::memory_order_acquire)) {
      polled_ = *next;
      next_.store(nullptr, std::memory_order_release);
    }
    for (Reader *reader : polled_) {
      reader->turn(0, [this] { return next_.load(std::memory_order_relaxed) != nullptr; });
    }
    // Nobody left to poll: give the core away until the next reader.
    if (polled_.empty()) std::this_thread::yield();
  }
}

}  // namespace rmwbench
