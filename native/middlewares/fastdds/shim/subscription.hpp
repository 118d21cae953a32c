// A DataReader and where its messages go. Who calls `drain` is the wait mode: the blocker, the poller, or Fast DDS's own thread.
#pragma once

#include <atomic>
#include <mutex>

#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>

#include "raw_type.hpp"
#include "session.hpp"

struct rmwbench_subscription : private rmwbench::fd::DataReaderListener {
  rmwbench_subscription(rmwbench_session &session, const rmwbench_endpoint_config &config, const rmwbench_sink &sink);
  ~rmwbench_subscription() override;

  // Takes and delivers whatever has arrived. `notified_ns` is when the caller learnt that something had.
  void drain(int64_t notified_ns) { drain(*reader_, notified_ns); }
  // Takes and delivers one message, if there is one.
  bool take(int64_t notified_ns) { return take(*reader_, notified_ns); }

  uint32_t matched() const;
  void granted(rmwbench_granted &granted) const;
  void account(const rmwbench_account &account) const;
  rmwbench::fd::StatusCondition &condition() { return reader_->get_statuscondition(); }

 private:
  void on_data_available(rmwbench::fd::DataReader *reader) override;
  void drain(rmwbench::fd::DataReader &reader, int64_t notified_ns);
  bool take(rmwbench::fd::DataReader &reader, int64_t notified_ns);

  rmwbench_session &session_;
  const rmwbench_sink sink_;
  const int32_t wait_;
  rmwbench::Layout layout_;
  std::atomic<int64_t> refused_{0};
  // One place each, owned by us: Fast DDS deserialises into it, and its buffer is kept from message to message.
  rmwbench::fd::LoanableSequence<rmwbench::Incoming> sample_;
  rmwbench::fd::SampleInfoSeq info_;
  // Callbacks only: each transport has its own receiving thread, and they share the sample. Fast DDS calls with the reader's own lock
  // held, so nothing that takes that lock may be done while this one is held outside a callback.
  std::mutex callback_;
  bool closed_ = false;
  rmwbench::fd::Topic *topic_ = nullptr;
  rmwbench::fd::DataReader *reader_ = nullptr;
};
