#include "reader.hpp"

#include <rmwbench_fault.hpp>

#include "qos.hpp"

namespace rmwbench {
namespace {

constexpr char drain_note[] =
    "callback: Fast DDS announces once what may be several messages, so a callback takes until "
    "none "
    "is left, as its users' do; meanwhile its thread receives nothing else";

}  // namespace

Reader::Reader(rmwbench_session &session, const rmwbench_endpoint_config &config, const char *topic,
               const rmwbench_message_type &type, bool may_wait)
    : session_(session),
      endpoint_(config.endpoint),
      wait_(config.wait),
      payload_bytes_(type.payload_bytes),
      content_filter_(config.qos.content_filter == nullptr ? "" : config.qos.content_filter),
      layout_(type),
      sample_(1),
      info_(1),
      qos_(session.profile.reader(*session.subscriber, config.topic)) {
  if (may_wait && wait_ == RMWBENCH_WAIT_CALLBACK) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(endpoint_),
                "wait callback: it would publish with keep_all in Fast DDS's receiving thread, and "
                "wait there for acknowledgements that only this thread takes"};
  }
  sample_.length(1);
  sample_[0].layout = &layout_;
  sample_[0].expected = payload_bytes_;
  sample_[0].refused = &refused_;
  sample_[0].prefault(payload_bytes_);
  apply(config, session.settings, session.plain_types ? layout_.size(payload_bytes_) : 0, qos_);
  topic_ = session.topic(topic, type.dds_type, endpoint_);
  type_ = session.type(type.dds_type);
}

Reader::~Reader() {
  if (reader_ != nullptr) session_.subscriber->delete_datareader(reader_);
  if (filtered_ != nullptr) session_.participant->delete_contentfilteredtopic(filtered_);
  session_.release_topic(topic_);
}

void Reader::filter(const std::string &expression, const std::string &parameter) {
  static std::atomic<uint32_t> count{0};
  const std::string name = topic_->get_name() + "~" + std::to_string(++count);
  tally_ = session_.filters.of_reader([&] {
    filtered_ = session_.participant->create_contentfilteredtopic(name, topic_, expression,
                                                                  {parameter}, Filters::class_name);
  });
  if (filtered_ == nullptr) {
    throw Fault{RMWBENCH_ERROR_FAILED, endpoint_name(endpoint_),
                "Fast DDS refused the content filter; its words are on stderr"};
  }
}

void Reader::open() {
  const bool callback = wait_ == RMWBENCH_WAIT_CALLBACK;
  const auto mask = callback ? fd::StatusMask::data_available() : fd::StatusMask::none();
  fd::TopicDescription *topic =
      filtered_ != nullptr ? static_cast<fd::TopicDescription *>(filtered_) : topic_;
  {
    const auto held = type_->sized(layout_.size(payload_bytes_));
    reader_ = session_.subscriber->create_datareader(topic, qos_, callback ? this : nullptr, mask);
  }
  if (reader_ == nullptr) {
    throw Fault{RMWBENCH_ERROR_FAILED, endpoint_name(endpoint_),
                "Fast DDS refused the reader; its words are on stderr"};
  }
  if (wait_ == RMWBENCH_WAIT_BLOCK)
    condition().set_enabled_statuses(fd::StatusMask::data_available());
  if (!callback) registration_ = session_.pumps.add(wait_, *this);
}

void Reader::close() {
  rmwbench_registration_end(registration_);
  std::lock_guard<std::mutex> lock(callback_);
  closed_ = true;
}

void Reader::on_data_available(fd::DataReader *reader) {
  // `reader` and not `reader_`: the first call may come before create_datareader returned. The
  // caller is Fast DDS's thread, which catches no exception.
  const int64_t notified_ns = rmwbench_now_ns();
  infallible([&] {
    std::lock_guard<std::mutex> lock(callback_);
    if (!closed_) drain(*reader, notified_ns);
  });
}

namespace {

// One message and its stamp, which is taken as soon as Fast DDS has delivered the message: the time
// of this worker's later look-ups is not the middleware's.
rmwbench_delivery taken(int64_t notified_ns, int64_t taken_ns, const uint8_t *payload, size_t bytes,
                        int32_t zero_copy) {
  return {notified_ns == 0 ? taken_ns : notified_ns, taken_ns, payload, bytes, zero_copy, 0};
}

}  // namespace

void Reader::drain(fd::DataReader &reader, int64_t notified_ns) {
  // The wake-up did not announce a message that came while the last one was being consumed.
  while (take(reader, notified_ns)) notified_ns = rmwbench_now_ns();
}

bool Reader::take(fd::DataReader &reader, int64_t notified_ns) {
  return session_.plain_types ? take_loan(reader, notified_ns) : take_copy(reader, notified_ns);
}

bool Reader::take_copy(fd::DataReader &reader, int64_t notified_ns) {
  sample_.length(0);
  info_.length(0);
  // The call that rmw_fastrtps uses, one message at a time into memory of the worker.
  // (take_next_sample() of 2.9.1 would return early from an empty history without lowering the
  // status condition.)
  if (reader.take(sample_, info_, 1) != ok) return false;
  const int64_t taken_ns = rmwbench_now_ns();
  if (info_[0].valid_data) {
    const Incoming &message = sample_[0];
    deliver(info_[0], taken(notified_ns, taken_ns, message.buffer.get(), message.bytes, 0));
  }
  return true;
}

bool Reader::take_loan(fd::DataReader &reader, int64_t notified_ns) {
  if (reader.take(lent_, lent_info_, 1) != ok) return false;
  const int64_t taken_ns = rmwbench_now_ns();
  if (lent_info_[0].valid_data) {
    const uint8_t *payload = layout_.payload_of(&lent_[0].first);
    const bool in_place = segments_.contain(payload);
    // A writer does not wait before it overwrites a sample: Fast DDS asks its users to check
    // whether a sample is still valid.
    const auto stands = [&] {
      return !in_place || reader.is_sample_valid(&lent_[0], &lent_info_[0]);
    };
    if (!stands()) {
      overwritten_unread_.fetch_add(1, std::memory_order_relaxed);
    } else {
      if (in_place) in_place_.fetch_add(1, std::memory_order_relaxed);
      deliver(lent_info_[0],
              taken(notified_ns, taken_ns, payload, payload_bytes_, in_place ? 1 : 0));
      if (!stands()) overwritten_reading_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  reader.return_loan(lent_, lent_info_);
  return true;
}

uint32_t Reader::matched() const {
  fd::SubscriptionMatchedStatus status;
  reader_->get_subscription_matched_status(status);
  return static_cast<uint32_t>(status.current_count);
}

void Reader::granted(rmwbench_granted &granted) const {
  tell(reader_->get_qos(), session_.settings, granted);
  session_.tell(granted);
  granted.wait = wait_;
  granted.take = session_.plain_types ? RMWBENCH_TAKE_LENT : RMWBENCH_TAKE_TYPED;
  granted.note(granted.context,
               session_.plain_types
                   ? "take: lent by Fast DDS, by loan and return"
                   : "take typed: deserialised into the reader's own memory, one copy");
  granted.note(granted.context, wait_ == RMWBENCH_WAIT_CALLBACK ? drain_note : RMWBENCH_TURN_NOTE);
  if (!content_filter_.empty()) {
    granted.qos.content_filter = content_filter_.c_str();
    granted.note(granted.context,
                 "content filter: writers filter before they send, where they know the filter; the "
                 "counters tell which "
                 "side did");
  }
  if (session_.settings.unique_flows) {
    rtps::LocatorList_t listening;
    reader_->get_listening_locators(listening);
    std::string ports = "unique_flows: this reader listens at";
    for (const auto &locator : listening)
      ports += (ports.back() == 't' ? " port " : ", ") + std::to_string(locator.port);
    granted.note(granted.context, ports.c_str());
  }
}

void Reader::account(const rmwbench_account &account) const {
  const auto counter = [&](const char *name, int64_t value) {
    account.counter(account.context, name, value);
  };
  fd::SampleLostStatus lost;
  if (reader_->get_sample_lost_status(lost) == ok) {
    account.reader_drops(account.context, static_cast<uint64_t>(lost.total_count));
    counter("sample_lost", lost.total_count);
  }
  fd::SampleRejectedStatus rejected;
  if (reader_->get_sample_rejected_status(rejected) == ok)
    counter("sample_rejected", rejected.total_count);
  fd::RequestedIncompatibleQosStatus incompatible;
  if (reader_->get_requested_incompatible_qos_status(incompatible) == ok) {
    counter("requested_incompatible_qos", incompatible.total_count);
  }
  counter("short_payloads", refused_.load(std::memory_order_relaxed));
  if (tally_ != nullptr) {
    counter("reader_filter_evaluated", tally_->evaluated.load(std::memory_order_relaxed));
    counter("reader_filter_refused", tally_->refused.load(std::memory_order_relaxed));
  }
  if (session_.plain_types) {
    counter("overwritten_unread", overwritten_unread_.load(std::memory_order_relaxed));
    counter("overwritten_while_read", overwritten_reading_.load(std::memory_order_relaxed));
  }
  const int64_t in_place = in_place_.load(std::memory_order_relaxed);
  if (in_place > 0) {
    account.evidence(account.context, "shm", static_cast<uint64_t>(in_place),
                     "read in place in the writer's data-sharing segment");
  }
}

}  // namespace rmwbench
