#include "pumps.hpp"

#include <rmwbench_fault.hpp>

#include "reader.hpp"

namespace rmwbench {

Pumps::Pumps() {
  set_.attach_condition(woken_);
  rmwbench_wait_set wait_set{};
  wait_set.context = this;
  wait_set.attach = [](void *pumps, void *reader, size_t token) {
    infallible([&] {
      static_cast<Pumps *>(pumps)->attach(static_cast<Reader *>(reader)->condition(), token);
    });
  };
  wait_set.detach = [](void *pumps, void *reader, size_t) {
    infallible(
        [&] { static_cast<Pumps *>(pumps)->detach(static_cast<Reader *>(reader)->condition()); });
  };
  wait_set.wait = [](void *pumps, int32_t block, size_t *ready, size_t room) {
    return infallible([&] { return static_cast<Pumps *>(pumps)->wait(block != 0, ready, room); });
  };
  wait_set.wake = [](void *pumps) {
    infallible([&] { static_cast<Pumps *>(pumps)->woken_.set_trigger_value(true); });
  };
  pumps_ = rmwbench_pumps_create(&wait_set);
}

rmwbench_registration *Pumps::add(int32_t wait, Reader &reader) {
  rmwbench_source source{};
  source.context = &reader;
  source.take = [](void *context, int64_t notified_ns) {
    return infallible(
        [&]() -> int32_t { return static_cast<Reader *>(context)->take(notified_ns) ? 1 : 0; });
  };
  rmwbench_registration *registration = rmwbench_pumps_add(pumps_, wait, &source);
  if (registration == nullptr)
    throw Fault{RMWBENCH_ERROR_FAILED, "waiting thread", "it could not be started"};
  return registration;
}

void Pumps::stop() {
  rmwbench_pumps_destroy(pumps_);
  pumps_ = nullptr;
}

void Pumps::attach(fd::Condition &condition, size_t token) {
  tokens_[&condition] = token;
  set_.attach_condition(condition);
}

void Pumps::detach(fd::Condition &condition) {
  set_.detach_condition(condition);
  tokens_.erase(&condition);
}

size_t Pumps::wait(bool block, size_t *ready, size_t room) {
  if (set_.wait(active_, block ? forever : at_once) != ok) return 0;
  size_t count = 0;
  for (const fd::Condition *condition : active_) {
    const auto found = tokens_.find(condition);
    if (found == tokens_.end()) {
      woken_.set_trigger_value(false);
    } else if (count < room) {
      ready[count++] = found->second;  // the next wait announces again what finds no room
    }
  }
  return count;
}

}  // namespace rmwbench
