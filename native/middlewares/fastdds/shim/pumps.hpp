// The harness's receive loops, and a Fast DDS WaitSet for the one that blocks.
#pragma once

#include <unordered_map>

#include <fastdds/dds/core/condition/GuardCondition.hpp>
#include <fastdds/dds/core/condition/WaitSet.hpp>

#include <rmwbench_worker.h>

#include "fastdds_api.hpp"

namespace rmwbench {

class Reader;

class Pumps {
 public:
  Pumps();
  ~Pumps() { stop(); }
  Pumps(const Pumps &) = delete;

  // `wait` is RMWBENCH_WAIT_BLOCK or _POLL. The loop takes for the reader until
  // rmwbench_registration_end(). Throws Fault.
  rmwbench_registration *add(int32_t wait, Reader &reader);
  void stop();

 private:
  void attach(fd::Condition &condition, size_t token);
  void detach(fd::Condition &condition);
  size_t wait(bool block, size_t *ready, size_t room);

  fd::WaitSet set_;
  fd::GuardCondition woken_;
  // Only the loop's thread uses these two.
  std::unordered_map<const fd::Condition *, size_t> tokens_;
  fd::ConditionSeq active_;
  rmwbench_pumps *pumps_;
};

}  // namespace rmwbench
