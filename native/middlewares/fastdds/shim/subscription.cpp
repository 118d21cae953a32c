#include "subscription.hpp"

#include "fault.hpp"
#include "qos.hpp"

using namespace rmwbench;

rmwbench_subscription::rmwbench_subscription(rmwbench_session &session, const rmwbench_endpoint_config &config, const rmwbench_sink &sink)
    : session_(session),
      sink_(sink),
      wait_(config.wait),
      layout_{{config.type.cdr_prefix, config.type.cdr_prefix + config.type.cdr_prefix_bytes},
              {config.type.cdr_suffix, config.type.cdr_suffix + config.type.cdr_suffix_bytes}},
      sample_(1),
      info_(1) {
  sample_.length(1);
  sample_[0].layout = &layout_;
  sample_[0].expected = config.type.payload_bytes;
  sample_[0].refused = &refused_;
  sample_[0].reserve(config.type.payload_bytes);
  fd::DataReaderQos qos = session.profile.reader(*session.subscriber, config.topic);
  apply(config, qos);
  topic_ = session.topic(config.dds_topic, config.type.dds_type, config.endpoint);
  const bool callback = wait_ == RMWBENCH_WAIT_CALLBACK;
  reader_ = session.subscriber->create_datareader(topic_, qos, callback ? this : nullptr,
                                                  callback ? fd::StatusMask::data_available() : fd::StatusMask::none());
  if (reader_ == nullptr) {
    session.release_topic(topic_);
    throw Fault{RMWBENCH_ERROR_FAILED, endpoint_name(config.endpoint), "Fast DDS refused the reader; its words are on stderr"};
  }
  if (wait_ == RMWBENCH_WAIT_BLOCK) {
    condition().set_enabled_statuses(fd::StatusMask::data_available());
    session.blocker.add(*this);
  } else if (wait_ == RMWBENCH_WAIT_POLL) {
    session.poller.add(*this);
  }
}

rmwbench_subscription::~rmwbench_subscription() {
  if (wait_ == RMWBENCH_WAIT_BLOCK) {
    session_.blocker.remove(*this);
  } else if (wait_ == RMWBENCH_WAIT_POLL) {
    session_.poller.remove(*this);
  } else {
    std::lock_guard<std::mutex> lock(callback_);
    closed_ = true;
  }
  session_.subscriber->delete_datareader(reader_);
  session_.release_topic(topic_);
}

void rmwbench_subscription::on_data_available(fd::DataReader *reader) {
  // `reader` and not `reader_`: the first call may come before create_datareader returned.
  const int64_t notified_ns = rmwbench_now_ns();
  std::lock_guard<std::mutex> lock(callback_);
  if (!closed_) drain(*reader, notified_ns);
}

void rmwbench_subscription::drain(fd::DataReader &reader, int64_t notified_ns) {
  // What came while the last message was being consumed was not announced by the wake-up that we answer.
  while (take(reader, notified_ns)) notified_ns = rmwbench_now_ns();
}

bool rmwbench_subscription::take(fd::DataReader &reader, int64_t notified_ns) {
  sample_.length(0);
  info_.length(0);
  // The call of rmw_fastrtps, one message at a time into memory of ours. (take_next_sample() of 2.9.1 would return early from an
  // empty history without lowering the status condition.)
  if (reader.take(sample_, info_, 1) != ok) return false;
  if (info_[0].valid_data) {
    const Incoming &message = sample_[0];
    const rmwbench_delivery delivery{notified_ns, rmwbench_now_ns(), message.buffer.get(), message.bytes, 0};
    sink_.deliver(sink_.context, &delivery);
  }
  return true;
}

uint32_t rmwbench_subscription::matched() const {
  fd::SubscriptionMatchedStatus status;
  reader_->get_subscription_matched_status(status);
  return static_cast<uint32_t>(status.current_count);
}

void rmwbench_subscription::granted(rmwbench_granted &granted) const {
  tell(reader_->get_qos(), granted);
  granted.wait = wait_;
}

void rmwbench_subscription::account(const rmwbench_account &account) const {
  fd::SampleLostStatus lost;
  if (reader_->get_sample_lost_status(lost) == ok) {
    account.reader_drops(account.context, static_cast<uint64_t>(lost.total_count));
    account.counter(account.context, "sample_lost", lost.total_count);
  }
  fd::SampleRejectedStatus rejected;
  if (reader_->get_sample_rejected_status(rejected) == ok) {
    account.counter(account.context, "sample_rejected", rejected.total_count);
  }
  fd::RequestedIncompatibleQosStatus incompatible;
  if (reader_->get_requested_incompatible_qos_status(incompatible) == ok) {
    account.counter(account.context, "requested_incompatible_qos", incompatible.total_count);
  }
  account.counter(account.context, "short_payloads", refused_.load(std::memory_order_relaxed));
}
