#include "writer.hpp"

#include <rmwbench_fault.hpp>

#include "qos.hpp"
#if RMWBENCH_FASTDDS_MAJOR >= 3
#include <fastdds/rtps/common/WriteParams.hpp>
#else
#include <fastdds/rtps/common/WriteParams.h>
#endif

namespace rmwbench {
namespace {

rmwbench_status status_of(const ReturnCode &code) {
  if (code == ok) return RMWBENCH_OK;
  if (code == timed_out) return RMWBENCH_TIMEOUT;
  if (code == out_of_resources) return RMWBENCH_FULL;
  return RMWBENCH_FAILED;
}

}  // namespace

Writer::Writer(rmwbench_session &session, const rmwbench_endpoint_config &config, const char *topic,
               const rmwbench_message_type &type)
    : session_(session),
      layout_(type),
      content_filter_(config.qos.content_filter == nullptr ? "" : config.qos.content_filter) {
  if (config.loan != 0 && !session.plain_types) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
                "loan: Fast DDS lends memory of plain types only, and ROS 2's sequences are not "
                "plain; the profile data_sharing and the "
                "option plain_types give topics types of one size"};
  }
  fd::DataWriterQos qos = session.profile.writer(*session.publisher, config.topic);
  apply(config, session.settings, session.plain_types ? layout_.size(type.payload_bytes) : 0, qos);
  topic_ = session.topic(topic, type.dds_type, config.endpoint);
  type_ = session.type(type.dds_type);
  {
    const auto held = type_->sized(layout_.size(type.payload_bytes));
    writer_ = session.publisher->create_datawriter(topic_, qos);
  }
  if (writer_ == nullptr) {
    session.release_topic(topic_);
    throw Fault{RMWBENCH_ERROR_FAILED, endpoint_name(config.endpoint),
                "Fast DDS refused the writer; its words are on stderr"};
  }
}

Writer::~Writer() {
  session_.publisher->delete_datawriter(writer_);
  session_.release_topic(topic_);
}

rmwbench_status Writer::publish(const uint8_t *payload, size_t bytes) {
  Outgoing sample{&layout_, payload, bytes};
  // The overload with a handle returns why it failed; the shorter one of 2.x returns only whether.
  // Both do the same work.
  return status_of(writer_->write(&sample, fd::HANDLE_NIL));
}

rmwbench_status Writer::publish(const uint8_t *payload, size_t bytes,
                                const rtps::SampleIdentity &related) {
  Outgoing sample{&layout_, payload, bytes};
  rtps::WriteParams params;
  params.related_sample_identity(related);
  // The overload with parameters is used as in rmw_fastrtps; in 2.x it returns only whether it
  // failed.
#if RMWBENCH_FASTDDS_MAJOR >= 3
  return status_of(writer_->write(&sample, params));
#else
  return writer_->write(&sample, params) ? RMWBENCH_OK : RMWBENCH_FAILED;
#endif
}

rmwbench_status Writer::loan(size_t bytes, uint8_t **memory) {
  void *sample = nullptr;
  {
    // Fast DDS lends memory of the type's size, and types with one name share one object.
    const auto held = type_->sized(layout_.size(bytes));
    const ReturnCode code = writer_->loan_sample(
        sample, fd::DataWriter::LoanInitializationKind::NO_LOAN_INITIALIZATION);
    if (code != ok) return status_of(code);
  }
  *memory = layout_.construct(static_cast<uint8_t *>(sample), bytes);
  return RMWBENCH_OK;
}

rmwbench_status Writer::commit(uint8_t *memory, size_t) {
  void *sample = layout_.sample_of(memory);
  const ReturnCode code = writer_->write(sample, fd::HANDLE_NIL);
  // A loan that was not sent must still be returned.
  if (code != ok) writer_->discard_loan(sample);
  return status_of(code);
}

uint32_t Writer::matched() const {
  fd::PublicationMatchedStatus status;
  writer_->get_publication_matched_status(status);
  return static_cast<uint32_t>(status.current_count);
}

void Writer::granted(rmwbench_granted &granted) const {
  tell(writer_->get_qos(), session_.settings, granted);
  session_.tell(granted);
  if (!content_filter_.empty()) granted.qos.content_filter = content_filter_.c_str();
}

void Writer::account(const rmwbench_account &account) const {
  fd::OfferedIncompatibleQosStatus incompatible;
  if (writer_->get_offered_incompatible_qos_status(incompatible) == ok) {
    account.counter(account.context, "offered_incompatible_qos", incompatible.total_count);
  }
  int64_t evaluated = 0, refused = 0;
  if (session_.filters.at_writer(writer_->guid(), evaluated, refused)) {
    account.counter(account.context, "writer_filter_evaluated", evaluated);
    account.counter(account.context, "writer_filter_refused", refused);
  }
}

}  // namespace rmwbench
