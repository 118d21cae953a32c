#include "service.hpp"

#include <algorithm>
#include <sstream>

using namespace rmwbench;

rmwbench_client::rmwbench_client(rmwbench_session &session, const rmwbench_endpoint_config &config,
                                 const rmwbench_sink &replies)
    : Reader(session, config, config.dds_reply_topic, *config.reply_type,
             replies.publish_may_wait != 0),
      sink_(replies),
      filtering_(session.settings.reply_filter),
      requests_(session, config, config.dds_topic, config.type) {
  if (filtering_) {
    std::ostringstream words;
    words << requests_.guid();
    filter("reply to %0", words.str());
  }
  open();
  reader_ = guid();
  known_.store(true, std::memory_order_release);
  // If replies are filtered, the reader is unknown: the service then takes the identity of the
  // request itself.
  if (!filtering_) reply_to_.writer_guid(reader_);
}

rmwbench_status rmwbench_client::request(const uint8_t *payload, size_t bytes) {
  return requests_.publish(payload, bytes, reply_to_);
}

void rmwbench_client::deliver(const fd::SampleInfo &info, const rmwbench_delivery &delivery) {
  const rtps::GUID_t &to = info.related_sample_identity.writer_guid();
  if (known_.load(std::memory_order_acquire) && (to == reader_ || to == requests_.guid())) {
    sink_.deliver(sink_.context, &delivery);
  } else {
    others_.fetch_add(1, std::memory_order_relaxed);
    other_bytes_.fetch_add(static_cast<int64_t>(delivery.bytes), std::memory_order_relaxed);
  }
}

// A service exists if both of its topics do, as in ROS 2's service_is_ready().
uint32_t rmwbench_client::matched() const {
  return std::min(Reader::matched(), requests_.matched());
}

void rmwbench_client::granted(rmwbench_granted &granted) const {
  Reader::granted(granted);
  requests_.granted(granted);
}

void rmwbench_client::account(const rmwbench_account &account) const {
  Reader::account(account);
  requests_.account(account);
  account.counter(account.context, "other_clients_replies",
                  others_.load(std::memory_order_relaxed));
  account.counter(account.context, "other_clients_reply_bytes",
                  other_bytes_.load(std::memory_order_relaxed));
}

rmwbench_service::rmwbench_service(rmwbench_session &session,
                                   const rmwbench_endpoint_config &config,
                                   const rmwbench_handler &handler)
    : Reader(
          session, config, config.dds_topic, config.type,
          config.qos.reliability == RMWBENCH_RELIABLE && config.qos.history == RMWBENCH_KEEP_ALL),
      handler_(handler),
      replies_(session, config, config.dds_reply_topic, *config.reply_type) {
  open();
}

namespace {

struct Answer {
  Writer &replies;
  rtps::SampleIdentity request;
};

rmwbench_status answer(void *context, const uint8_t *payload, size_t bytes) {
  auto *answer = static_cast<Answer *>(context);
  return answer->replies.publish(payload, bytes, answer->request);
}

}  // namespace

void rmwbench_service::deliver(const fd::SampleInfo &info, const rmwbench_delivery &delivery) {
  Answer to{replies_, info.sample_identity};
  const rtps::GUID_t &reader = info.related_sample_identity.writer_guid();
  if (reader != rtps::GUID_t::unknown()) to.request.writer_guid(reader);
  const rmwbench_reply reply{&to, answer};
  handler_.handle(handler_.context, &delivery, &reply);
}

uint32_t rmwbench_service::matched() const {
  return std::min(Reader::matched(), replies_.matched());
}

void rmwbench_service::granted(rmwbench_granted &granted) const {
  replies_.granted(granted);
  Reader::granted(granted);
}

void rmwbench_service::account(const rmwbench_account &account) const {
  Reader::account(account);
  replies_.account(account);
}
