// A DataReader of raw CDR: of a subscription, of a service for requests, or of a client for
// replies. The wait mode decides which thread takes: that of the harness's blocking loop, of its
// spinning loop, or Fast DDS's own thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/topic/ContentFilteredTopic.hpp>

#include "data_sharing.hpp"
#include "filter.hpp"
#include "raw_type.hpp"
#include "session.hpp"

namespace rmwbench {

class Reader : private fd::DataReaderListener {
 public:
  // Takes and delivers one message, if there is one; returns whether it took one. `notified_ns` is
  // when the wait that announced it returned; 0 if no thread waits (polling).
  bool take(int64_t notified_ns) { return take(*reader_, notified_ns); }

  uint32_t matched() const;
  void granted(rmwbench_granted &granted) const;
  void account(const rmwbench_account &account) const;
  fd::StatusCondition &condition() { return reader_->get_statuscondition(); }
  const rtps::GUID_t &guid() const { return reader_->guid(); }

 protected:
  // `topic` and `type` are DDS's; the rest is as in `config`. Throws Fault. `may_wait`: a delivery
  // publishes in a call that may wait for acknowledgements, which is refused in Fast DDS's
  // receiving thread, because only that thread could take them. Only keep_all waits
  // (try_remove_change of DataWriterHistory).
  Reader(rmwbench_session &session, const rmwbench_endpoint_config &config, const char *topic,
         const rmwbench_message_type &type, bool may_wait);
  ~Reader() override;
  Reader(const Reader &) = delete;

  // Delivery begins within open() and ends with close(): the derived object must exist during that
  // time. A filter is set before open().
  void filter(const std::string &expression, const std::string &parameter);
  void open();
  void close();
  virtual void deliver(const fd::SampleInfo &info, const rmwbench_delivery &delivery) = 0;

 private:
  // A loaned sample: the pointer points at the message after its encapsulation.
  struct Lent {
    uint8_t first;
  };

  void on_data_available(fd::DataReader *reader) override;
  void drain(fd::DataReader &reader, int64_t notified_ns);
  bool take(fd::DataReader &reader, int64_t notified_ns);
  bool take_copy(fd::DataReader &reader, int64_t notified_ns);
  bool take_loan(fd::DataReader &reader, int64_t notified_ns);

  rmwbench_session &session_;
  const uint32_t endpoint_;
  const int32_t wait_;
  const uint32_t payload_bytes_;
  const std::string content_filter_;  // as requested; empty: none
  Layout layout_;
  std::atomic<int64_t> refused_{0};
  // One place each, owned by the reader: Fast DDS deserialises into it, and its buffer is used
  // again for each message.
  fd::LoanableSequence<Incoming> sample_;
  fd::SampleInfoSeq info_;
  // For plain types: places that Fast DDS fills with its own memory.
  fd::LoanableSequence<Lent> lent_;
  fd::SampleInfoSeq lent_info_;
  DataSharingSegments segments_;
  std::atomic<int64_t> in_place_{0}, overwritten_unread_{0}, overwritten_reading_{0};
  // For callbacks only: each transport has its own receiving thread, and they share the sample.
  // Fast DDS calls with the reader's own lock held, so outside of a callback nothing that takes
  // that lock may be done while this one is held.
  std::mutex callback_;
  bool closed_ = false;
  fd::DataReaderQos qos_;
  RawType *type_ = nullptr;
  fd::Topic *topic_ = nullptr;
  fd::ContentFilteredTopic *filtered_ = nullptr;
  std::shared_ptr<Tally> tally_;
  fd::DataReader *reader_ = nullptr;
  rmwbench_registration *registration_ = nullptr;  // in the loop that takes; NULL for callbacks
};

}  // namespace rmwbench

struct rmwbench_subscription : rmwbench::Reader {
  rmwbench_subscription(rmwbench_session &session, const rmwbench_endpoint_config &config,
                        const rmwbench_sink &sink)
      : Reader(session, config, config.dds_topic, config.type, sink.publish_may_wait != 0),
        sink_(sink) {
    // Where the payload begins: a writer that filters for this reader has only the serialised
    // message.
    if (config.qos.content_filter != nullptr)
      filter(config.qos.content_filter, std::to_string(config.type.cdr_prefix_bytes));
    open();
  }
  ~rmwbench_subscription() override { close(); }

 private:
  void deliver(const rmwbench::fd::SampleInfo &, const rmwbench_delivery &delivery) override {
    sink_.deliver(sink_.context, &delivery);
  }

  const rmwbench_sink sink_;
};
