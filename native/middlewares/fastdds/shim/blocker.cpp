#include "blocker.hpp"

#include "reader.hpp"

namespace rmwbench {

void Blocker::add(Reader &reader) { hand_over(Change::add, &reader); }

void Blocker::remove(Reader &reader) { hand_over(Change::remove, &reader); }

void Blocker::stop() {
  if (!thread_.joinable()) return;
  hand_over(Change::stop, nullptr);
  thread_.join();
}

void Blocker::hand_over(Change change, Reader *reader) {
  std::lock_guard<std::mutex> one_at_a_time(callers_);
  if (!thread_.joinable()) {
    set_.attach_condition(changed_);
    thread_ = std::thread([this] { run(); });
  }
  std::unique_lock<std::mutex> lock(mutex_);
  change_ = change;
  subject_ = reader;
  changed_.set_trigger_value(true);
  taken_.wait(lock, [this] { return change_ == Change::none; });
}

// Returns whether to go on.
bool Blocker::take_change() {
  std::lock_guard<std::mutex> lock(mutex_);
  changed_.set_trigger_value(false);
  const Change change = change_;
  if (change == Change::add) {
    readers_.emplace(&subject_->condition(), subject_);
    set_.attach_condition(subject_->condition());
  } else if (change == Change::remove) {
    set_.detach_condition(subject_->condition());
    readers_.erase(&subject_->condition());
  }
  change_ = Change::none;
  taken_.notify_one();
  return change != Change::stop;
}

void Blocker::run() {
  fd::ConditionSeq active;
  for (;;) {
    if (set_.wait(active, forever) != ok) continue;
    const int64_t notified_ns = rmwbench_now_ns();
    bool changed = false;
    for (const fd::Condition *condition : active) {
      const auto found = readers_.find(condition);
      if (found != readers_.end()) {
        found->second->drain(notified_ns);
      } else {
        changed = true;
      }
    }
    if (changed && !take_change()) return;
  }
}

}  // namespace rmwbench
