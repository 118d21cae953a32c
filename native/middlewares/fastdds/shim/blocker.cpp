#include "blocker.hpp"

#include <algorithm>

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
  pending_.store(true, std::memory_order_relaxed);
  changed_.set_trigger_value(true);
  taken_.wait(lock, [this] { return change_ == Change::none; });
}

// Returns whether to go on.
bool Blocker::take_change(std::vector<Reader *> &unfinished) {
  std::lock_guard<std::mutex> lock(mutex_);
  changed_.set_trigger_value(false);
  pending_.store(false, std::memory_order_relaxed);
  const Change change = change_;
  if (change == Change::add) {
    readers_.emplace(&subject_->condition(), subject_);
    set_.attach_condition(subject_->condition());
  } else if (change == Change::remove) {
    set_.detach_condition(subject_->condition());
    readers_.erase(&subject_->condition());
    unfinished.erase(std::remove(unfinished.begin(), unfinished.end(), subject_), unfinished.end());
  }
  change_ = Change::none;
  taken_.notify_one();
  return change != Change::stop;
}

void Blocker::run() {
  fd::ConditionSeq active;
  // Readers that may have more than one turn took: a take lowers the condition, also of a reader that it did not empty.
  std::vector<Reader *> unfinished, served;
  const auto interrupted = [this] { return pending_.load(std::memory_order_relaxed); };
  for (;;) {
    const bool block = unfinished.empty();
    if (set_.wait(active, block ? forever : at_once) != ok) {
      active.clear();
      if (block) continue;
    }
    const int64_t notified_ns = rmwbench_now_ns();
    bool changed = false;
    served.swap(unfinished);
    for (Reader *reader : served) {
      if (interrupted() || reader->turn(notified_ns, interrupted)) unfinished.push_back(reader);
    }
    for (const fd::Condition *condition : active) {
      const auto found = readers_.find(condition);
      if (found == readers_.end()) {
        changed = true;
      } else if (std::find(served.begin(), served.end(), found->second) == served.end()) {
        if (interrupted() || found->second->turn(notified_ns, interrupted)) unfinished.push_back(found->second);
      }
    }
    served.clear();
    if ((changed || interrupted()) && !take_change(unfinished)) return;
  }
}

}  // namespace rmwbench
