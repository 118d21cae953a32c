// What Fast DDS's statistics module says of the participants of a domain, as JSON lines: a reader
// on each of its topics.
//
// The types are read as raw CDR by their layout in fastdds/statistics/types.idl: the classes that
// the library generates from it have no headers. Whether the library has the module at all is asked
// of the library, because its headers come with and without.
//
// Built and run: 2.9.1 (Debian 12). Against 3.x it was never compiled.

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fastdds_api.hpp"

#if __has_include(<fastdds/statistics/dds/domain/DomainParticipant.hpp>) && RMWBENCH_FASTDDS_MAJOR < 3

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/statistics/dds/domain/DomainParticipant.hpp>
#include <fastdds/statistics/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/statistics/dds/subscriber/qos/DataReaderQos.hpp>
#include <fastdds/statistics/topic_names.hpp>

using namespace rmwbench;
namespace statistics = eprosima::fastdds::statistics;

namespace {

constexpr size_t encapsulation_bytes = 4, guid_bytes = 16, largest_bytes = 512;

enum class Value { real, count };

// Where a topic's type has its value: behind `key_bytes` of key.
struct Watched {
  const char *label;
  const char *topic;
  const char *type;
  size_t key_bytes;
  Value value;
};

const Watched watched[] = {
    {"history_latency_ns", statistics::HISTORY_LATENCY_TOPIC, "WriterReaderData", 32, Value::real},
    {"publication_throughput", statistics::PUBLICATION_THROUGHPUT_TOPIC, "EntityData", 16,
     Value::real},
    {"subscription_throughput", statistics::SUBSCRIPTION_THROUGHPUT_TOPIC, "EntityData", 16,
     Value::real},
    {"rtps_lost_packets", statistics::RTPS_LOST_TOPIC, "Entity2LocatorTraffic", 40, Value::count},
    {"data_count", statistics::DATA_COUNT_TOPIC, "EntityCount", 16, Value::count},
};

struct Sample {
  std::array<uint8_t, largest_bytes> bytes;
  size_t length = 0;
};

class RawType : public fd::TopicDataType {
 public:
  RawType(const std::string &name, size_t key_bytes) : key_bytes_(key_bytes) {
    setName(name.c_str());
    m_typeSize = largest_bytes;
    m_isGetKeyDefined = true;
    auto_fill_type_object(false);
    auto_fill_type_information(false);
  }
  using fd::TopicDataType::getSerializedSizeProvider;
  using fd::TopicDataType::serialize;
  bool serialize(void *, rtps::SerializedPayload_t *) override { return false; }
  bool deserialize(rtps::SerializedPayload_t *from, void *data) override {
    auto *sample = static_cast<Sample *>(data);
    if (from->data == nullptr || from->length > largest_bytes) return false;
    std::memcpy(sample->bytes.data(), from->data, from->length);
    sample->length = from->length;
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void *) override {
    return [] { return static_cast<uint32_t>(largest_bytes); };
  }
  void *createData() override { return new Sample(); }
  void deleteData(void *data) override { delete static_cast<Sample *>(data); }
  // The key is as long as 40 bytes and a handle has 16: folded, which here tells GUIDs and locators
  // apart well enough.
  bool getKey(void *data, rtps::InstanceHandle_t *handle, bool) override {
    const auto *sample = static_cast<const Sample *>(data);
    rtps::octet folded[16] = {};
    for (size_t i = 0; i < key_bytes_ && encapsulation_bytes + i < sample->length; ++i) {
      folded[i % 16] =
          static_cast<rtps::octet>(folded[i % 16] * 31 + sample->bytes[encapsulation_bytes + i]);
    }
    for (size_t i = 0; i < 16; ++i) handle->value[i] = folded[i];
    return true;
  }

 private:
  size_t key_bytes_;
};

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

std::mutex printing;

class Listener : public fd::DataReaderListener {
 public:
  explicit Listener(const Watched &watched) : watched_(watched) {}

  void on_subscription_matched(fd::DataReader *,
                               const fd::SubscriptionMatchedStatus &status) override {
    std::lock_guard<std::mutex> lock(printing);
    std::printf("{\"matched\": \"%s\", \"writers\": %d}\n", watched_.label, status.current_count);
  }

  void on_data_available(fd::DataReader *reader) override {
    Sample sample;
    fd::SampleInfo info;
    while (reader->take_next_sample(&sample, &info) == ok) {
      if (info.valid_data) print(sample);
    }
  }

 private:
  void print(const Sample &sample) {
    const size_t at = encapsulation_bytes + watched_.key_bytes;
    const bool real = watched_.value == Value::real;
    if (sample.length < at + (real ? sizeof(float) : sizeof(uint64_t))) return;
    char guid[2 * guid_bytes + 1];
    for (size_t i = 0; i < guid_bytes; ++i)
      std::snprintf(guid + 2 * i, 3, "%02x", sample.bytes[encapsulation_bytes + i]);
    std::lock_guard<std::mutex> lock(printing);
    std::printf("{\"time_ns\": %" PRId64 ", \"statistic\": \"%s\", \"guid\": \"%s\", \"value\": ",
                now_ns(), watched_.label, guid);
    if (real) {
      float value;
      std::memcpy(&value, sample.bytes.data() + at, sizeof value);
      std::printf("%.9g}\n", static_cast<double>(value));
    } else {
      uint64_t value;
      std::memcpy(&value, sample.bytes.data() + at, sizeof value);
      std::printf("%" PRIu64 "}\n", value);
    }
  }

  const Watched &watched_;
};

int absent(const char *why) {
  std::printf("{\"absent\": \"%s\"}\n", why);
  return 1;
}

// Why there is nothing to watch, empty where there is. By a participant of its own: enabling a
// statistics writer registers the library's own types, beside which ours cannot be.
std::string asked(uint32_t domain, int *answer) {
  auto *factory = fd::DomainParticipantFactory::get_instance();
  fd::DomainParticipant *participant =
      factory->create_participant(domain, fd::PARTICIPANT_QOS_DEFAULT);
  if (participant == nullptr) return "Fast DDS refuses a participant";
  auto *narrowed = statistics::dds::DomainParticipant::narrow(participant);
  std::string problem;
  if (narrowed == nullptr) {
    problem = "this libfastrtps was built without FASTDDS_STATISTICS: narrow() gives nothing";
  } else {
    const auto code = narrowed->enable_statistics_datawriter(
        statistics::DATA_COUNT_TOPIC, statistics::dds::STATISTICS_DATAWRITER_QOS);
    *answer = number(code);
    if (code == ReturnCode::RETCODE_UNSUPPORTED) {
      problem =
          "this libfastrtps was built without FASTDDS_STATISTICS: enable_statistics_datawriter "
          "answers RETCODE_UNSUPPORTED";
    }
    narrowed->disable_statistics_datawriter(statistics::DATA_COUNT_TOPIC);
  }
  participant->delete_contained_entities();
  factory->delete_participant(participant);
  return problem;
}

}  // namespace

// 0 once it watches (its threads go on), 1 where there is nothing to watch; the first line says
// which.
extern "C" int statistics_watch(uint32_t domain) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int answer = -1;
  const std::string problem = asked(domain, &answer);
  if (!problem.empty()) return absent(problem.c_str());
  std::printf("{\"library\": \"%s\", \"enable_statistics_datawriter\": %d}\n",
              RMWBENCH_FASTDDS_VERSION, answer);
  fd::DomainParticipant *participant =
      fd::DomainParticipantFactory::get_instance()->create_participant(domain,
                                                                       fd::PARTICIPANT_QOS_DEFAULT);
  if (participant == nullptr) return absent("Fast DDS refuses a participant");
  fd::Subscriber *subscriber = participant->create_subscriber(fd::SUBSCRIBER_QOS_DEFAULT);
  for (const Watched &one : watched) {
    const std::string type = std::string("eprosima::fastdds::statistics::") + one.type;
    fd::TypeSupport(new RawType(type, one.key_bytes)).register_type(participant);
    fd::Topic *topic = participant->create_topic(one.topic, type, fd::TOPIC_QOS_DEFAULT);
    fd::DataReaderQos qos = statistics::dds::STATISTICS_DATAREADER_QOS;
    qos.history().kind = fd::KEEP_ALL_HISTORY_QOS;
    // 0: without limit. What is lost is then the module's own loss.
    qos.resource_limits().max_samples = 0;
    qos.resource_limits().max_instances = 0;
    qos.resource_limits().max_samples_per_instance = 0;
    if (topic == nullptr || subscriber->create_datareader(topic, qos, new Listener(one)) == nullptr)
      return absent(one.topic);
  }
  return 0;
}

#else

extern "C" int statistics_watch(uint32_t) {
  std::printf(
      "{\"absent\": \"%s\"}\n",
      "these headers of Fast DDS have no statistics module, or are of 3.x, which nobody tried");
  return 1;
}

#endif
