// The same exchange written by hand on Fast DDS's API, as by a user who needs the latency of each
// message.
//
// It writes and reads the whole payload as the worker does, because that is the user's work and not
// the instrument's; it stamps a message twice, before the write and after the take. It uses only
// the header of the worker that gives 2.x and 3.x the same names.

#include "bare.h"

#include <atomic>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/core/condition/GuardCondition.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>

#include "fastdds_api.hpp"

using namespace rmwbench;

namespace {

constexpr char type_name[] = "std_msgs::msg::dds_::UInt8MultiArray_";
constexpr size_t head_bytes = 8;  // the sequence number; the pattern follows

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// A message: the bytes before the payload on the wire, and the payload.
struct Message {
  const std::vector<uint8_t> *prefix = nullptr;
  std::unique_ptr<uint8_t[]> payload;
  size_t bytes = 0;
};

class Type : public fd::TopicDataType {
 public:
  Type() {
#if RMWBENCH_FASTDDS_MAJOR >= 3
    set_name(type_name);
    max_serialized_type_size = 1024;
#else
    setName(type_name);
    m_typeSize = 1024;
    auto_fill_type_object(false);
    auto_fill_type_information(false);
#endif
  }
#if RMWBENCH_FASTDDS_MAJOR >= 3
  bool serialize(const void *const data, rtps::SerializedPayload_t &to,
                 fd::DataRepresentationId_t) override {
    return write(data, to);
  }
  bool deserialize(rtps::SerializedPayload_t &from, void *data) override {
    return read(from, data);
  }
  uint32_t calculate_serialized_size(const void *const data, fd::DataRepresentationId_t) override {
    return size(data);
  }
  void *create_data() override { return new Message(); }
  void delete_data(void *data) override { delete static_cast<Message *>(data); }
  bool compute_key(rtps::SerializedPayload_t &, rtps::InstanceHandle_t &, bool) override {
    return false;
  }
  bool compute_key(const void *const, rtps::InstanceHandle_t &, bool) override { return false; }
#else
  using fd::TopicDataType::getSerializedSizeProvider;
  using fd::TopicDataType::serialize;
  bool serialize(void *data, rtps::SerializedPayload_t *to) override { return write(data, *to); }
  bool deserialize(rtps::SerializedPayload_t *from, void *data) override {
    return read(*from, data);
  }
  std::function<uint32_t()> getSerializedSizeProvider(void *data) override {
    return [data] { return size(data); };
  }
  void *createData() override { return new Message(); }
  void deleteData(void *data) override { delete static_cast<Message *>(data); }
  bool getKey(void *, rtps::InstanceHandle_t *, bool) override { return false; }
#endif

 private:
  static uint32_t size(const void *data) {
    const auto *message = static_cast<const Message *>(data);
    return static_cast<uint32_t>(message->prefix->size() + message->bytes);
  }
  static bool write(const void *data, rtps::SerializedPayload_t &to) {
    const auto *message = static_cast<const Message *>(data);
    std::memcpy(to.data, message->prefix->data(), message->prefix->size());
    std::memcpy(to.data + message->prefix->size(), message->payload.get(), message->bytes);
    to.length = size(data);
    return true;
  }
  static bool read(rtps::SerializedPayload_t &from, void *data) {
    auto *message = static_cast<Message *>(data);
    const size_t prefix = message->prefix->size();
    if (from.data == nullptr || from.length < prefix + message->bytes) return false;
    std::memcpy(message->payload.get(), from.data + prefix, message->bytes);
    return true;
  }
};

template <typename Qos>
void as_ros_does(Qos &qos) {
  qos.reliability().kind = fd::RELIABLE_RELIABILITY_QOS;
  qos.durability().kind = fd::VOLATILE_DURABILITY_QOS;  // Fast DDS's writers are transient local by
                                                        // themselves, which costs more
  qos.history().kind = fd::KEEP_LAST_HISTORY_QOS;
  qos.history().depth = 10;
  qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  qos.data_sharing().off();
}

}  // namespace

struct bare {
  std::vector<uint8_t> prefix;
  Message outgoing;
  std::vector<int64_t> sent_ns;
  std::vector<std::atomic<int64_t>> taken_ns;
  std::atomic<uint64_t> received{0};
  std::atomic<bool> corrupt{false};
  std::atomic<bool> stop{false};

  fd::DomainParticipant *participants[2] = {nullptr, nullptr};
  fd::DataWriter *writer = nullptr;
  fd::DataReader *reader = nullptr;
  fd::WaitSet set;
  fd::GuardCondition stopping;
  std::thread thread;

  explicit bare(size_t capacity) : taken_ns(capacity) { sent_ns.reserve(capacity); }

  bool open(uint32_t domain, const char *profile, const char *topic_name) {
    auto *factory = fd::DomainParticipantFactory::get_instance();
    fd::Topic *topics[2];
    for (int side = 0; side < 2; ++side) {
      fd::DomainParticipantQos qos;
      factory->get_participant_qos_from_profile(profile, qos);
      participants[side] = factory->create_participant(domain, qos);
      if (participants[side] == nullptr) return false;
      fd::TypeSupport(new Type()).register_type(participants[side]);
      topics[side] = participants[side]->create_topic(topic_name, type_name, fd::TOPIC_QOS_DEFAULT);
    }
    fd::Subscriber *subscriber = participants[1]->create_subscriber(fd::SUBSCRIBER_QOS_DEFAULT);
    fd::DataReaderQos reading;
    subscriber->get_datareader_qos_from_profile(profile, reading);
    as_ros_does(reading);
    reader = subscriber->create_datareader(topics[1], reading);
    fd::Publisher *publisher = participants[0]->create_publisher(fd::PUBLISHER_QOS_DEFAULT);
    fd::DataWriterQos writing;
    publisher->get_datawriter_qos_from_profile(profile, writing);
    as_ros_does(writing);
    writer = publisher->create_datawriter(topics[0], writing);
    if (writer == nullptr || reader == nullptr) return false;
    reader->get_statuscondition().set_enabled_statuses(fd::StatusMask::data_available());
    set.attach_condition(reader->get_statuscondition());
    set.attach_condition(stopping);
    thread = std::thread([this] { run(); });
    return true;
  }

  void run() {
    fd::LoanableSequence<Message> messages(1);
    fd::SampleInfoSeq infos(1);
    messages.length(1);
    messages[0].prefix = &prefix;
    messages[0].bytes = outgoing.bytes;
    messages[0].payload.reset(new uint8_t[outgoing.bytes]);
    fd::ConditionSeq active;
    while (!stop.load(std::memory_order_relaxed)) {
      set.wait(active, forever);
      for (;;) {
        messages.length(0);
        infos.length(0);
        if (reader->take(messages, infos, 1) != ok) break;
        const int64_t taken = now_ns();
        if (infos[0].valid_data) consume(messages[0].payload.get(), taken);
      }
    }
  }

  void consume(const uint8_t *payload, int64_t taken) {
    uint64_t seq;
    std::memcpy(&seq, payload, head_bytes);
    if (!bench_verify(payload + head_bytes, outgoing.bytes - head_bytes, seq)) corrupt = true;
    taken_ns[seq].store(taken, std::memory_order_relaxed);
    received.store(seq + 1, std::memory_order_release);
  }

  void send() {
    const uint64_t seq = sent_ns.size();
    std::memcpy(outgoing.payload.get(), &seq, head_bytes);
    bench_fill(outgoing.payload.get() + head_bytes, outgoing.bytes - head_bytes, seq);
    sent_ns.push_back(now_ns());
    writer->write(&outgoing);
  }

  ~bare() {
    if (thread.joinable()) {
      stop = true;
      stopping.set_trigger_value(true);
      thread.join();
    }
    for (fd::DomainParticipant *participant : participants) {
      if (participant == nullptr) continue;
      participant->delete_contained_entities();
      fd::DomainParticipantFactory::get_instance()->delete_participant(participant);
    }
  }
};

bare *bare_open(uint32_t domain, const char *profile, const char *topic, const uint8_t *prefix,
                size_t prefix_bytes, size_t payload_bytes, size_t capacity) {
  auto program = std::make_unique<bare>(capacity);
  program->prefix.assign(prefix, prefix + prefix_bytes);
  program->outgoing.prefix = &program->prefix;
  program->outgoing.bytes = payload_bytes;
  program->outgoing.payload.reset(new uint8_t[payload_bytes]());
  return program->open(domain, profile, topic) ? program.release() : nullptr;
}

void bare_close(bare *bare) { delete bare; }

int bare_matched(bare *bare) {
  fd::PublicationMatchedStatus publication;
  fd::SubscriptionMatchedStatus subscription;
  bare->writer->get_publication_matched_status(publication);
  bare->reader->get_subscription_matched_status(subscription);
  return publication.current_count > 0 && subscription.current_count > 0;
}

void bare_send(bare *bare) { bare->send(); }

int bare_all_received(const bare *bare) {
  return bare->received.load(std::memory_order_acquire) >= bare->sent_ns.size();
}

size_t bare_latencies_ns(const bare *bare, int64_t *latencies_ns) {
  for (size_t seq = 0; seq < bare->sent_ns.size(); ++seq) {
    const int64_t taken = bare->taken_ns[seq].load(std::memory_order_relaxed);
    latencies_ns[seq] = taken == 0 ? -1 : taken - bare->sent_ns[seq];
  }
  return bare->sent_ns.size();
}

int bare_corrupt(const bare *bare) { return bare->corrupt.load(); }
