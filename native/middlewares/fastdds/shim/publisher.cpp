#include "publisher.hpp"

#include "fault.hpp"
#include "qos.hpp"

using namespace rmwbench;

rmwbench_publisher::rmwbench_publisher(rmwbench_session &session, const rmwbench_endpoint_config &config)
    : session_(session),
      layout_{{config.type.cdr_prefix, config.type.cdr_prefix + config.type.cdr_prefix_bytes},
              {config.type.cdr_suffix, config.type.cdr_suffix + config.type.cdr_suffix_bytes}} {
  if (config.loan != 0) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
                "loan: Fast DDS lends memory of plain, bounded types only, and 2.9.1's reader of such loans crashes when it is overrun"};
  }
  fd::DataWriterQos qos = session.profile.writer(*session.publisher, config.topic);
  apply(config, qos);
  topic_ = session.topic(config.dds_topic, config.type.dds_type, config.endpoint);
  writer_ = session.publisher->create_datawriter(topic_, qos);
  if (writer_ == nullptr) {
    session.release_topic(topic_);
    throw Fault{RMWBENCH_ERROR_FAILED, endpoint_name(config.endpoint), "Fast DDS refused the writer; its words are on stderr"};
  }
}

rmwbench_publisher::~rmwbench_publisher() {
  session_.publisher->delete_datawriter(writer_);
  session_.release_topic(topic_);
}

rmwbench_status rmwbench_publisher::publish(const uint8_t *payload, size_t bytes) {
  Outgoing sample{&layout_, payload, bytes};
  // The overload with a handle tells why it failed; the shorter one of 2.x says only that it did. They do the same work.
  const ReturnCode code = writer_->write(&sample, fd::HANDLE_NIL);
  if (code == ok) return RMWBENCH_OK;
  if (code == timed_out) return RMWBENCH_TIMEOUT;
  if (code == out_of_resources) return RMWBENCH_FULL;
  return RMWBENCH_FAILED;
}

uint32_t rmwbench_publisher::matched() const {
  fd::PublicationMatchedStatus status;
  writer_->get_publication_matched_status(status);
  return static_cast<uint32_t>(status.current_count);
}

void rmwbench_publisher::granted(rmwbench_granted &granted) const { tell(writer_->get_qos(), granted); }

void rmwbench_publisher::account(const rmwbench_account &account) const {
  fd::OfferedIncompatibleQosStatus incompatible;
  if (writer_->get_offered_incompatible_qos_status(incompatible) == ok) {
    account.counter(account.context, "offered_incompatible_qos", incompatible.total_count);
  }
}
