#include "profile.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/log/Log.hpp>
#include <fastdds/dds/log/StdoutErrConsumer.hpp>

#include <rmwbench_fault.hpp>

#include "profile_names.hpp"

namespace rmwbench {
namespace {

// Keeps the errors that Fast DDS logs while it reads a profile: its return code is also "ok" for a
// profile of which it skipped a part.
class Complaints : public fd::LogConsumer {
 public:
  struct Kept {
    std::mutex mutex;
    std::string words;
  };

  explicit Complaints(std::shared_ptr<Kept> kept) : kept_(std::move(kept)) {}

  void Consume(const fd::Log::Entry &entry) override {
    if (entry.kind != fd::Log::Kind::Error) return;
    std::lock_guard<std::mutex> lock(kept_->mutex);
    kept_->words += (kept_->words.empty() ? "" : "; ") + entry.message;
  }

 private:
  std::shared_ptr<Kept> kept_;
};

// Loads `text` once per process. Throws Fault.
void load(const std::string &text, const std::string &object) {
  static std::mutex mutex;
  static std::string loaded;
  std::lock_guard<std::mutex> lock(mutex);
  if (loaded == text) return;
  if (!loaded.empty()) {
    throw Fault{
        RMWBENCH_ERROR_UNSUPPORTED, object,
        "Fast DDS keeps profiles for the whole process, and this process has another one already"};
  }
  const auto kept = std::make_shared<Complaints::Kept>();
  fd::Log::ClearConsumers();
  fd::Log::RegisterConsumer(std::make_unique<Complaints>(kept));
  const bool accepted = fd::DomainParticipantFactory::get_instance()->load_XML_profiles_string(
                            text.data(), text.size()) == ok;
  fd::Log::Flush();
  log_to_stderr();
  std::lock_guard<std::mutex> words(kept->mutex);
  if (!accepted || !kept->words.empty()) {
    throw Fault{RMWBENCH_ERROR_INVALID, object,
                "Fast DDS says: " + (kept->words.empty() ? "not a profile" : kept->words)};
  }
  loaded = text;
}

std::string default_of(const std::vector<NamedProfile> &profiles) {
  const auto marked = std::find_if(profiles.begin(), profiles.end(),
                                   [](const NamedProfile &p) { return p.is_default; });
  return marked == profiles.end() ? "" : marked->name;
}

bool holds(const std::vector<NamedProfile> &profiles, const std::string &name) {
  return std::any_of(profiles.begin(), profiles.end(),
                     [&](const NamedProfile &p) { return p.name == name; });
}

}  // namespace

void shut_out_the_environment() {
  for (const char *name :
       {"FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE",
        "FASTDDS_BUILTIN_TRANSPORTS", "FASTDDS_STATISTICS", "FASTDDS_ENVIRONMENT_FILE",
        "ROS_DISCOVERY_SERVER", "ROS_SUPER_CLIENT"}) {
    unsetenv(name);
  }
  setenv("SKIP_DEFAULT_XML_FILE", "1", 1);
}

void log_to_stderr() {
  fd::Log::ClearConsumers();
  auto consumer = std::make_unique<fd::StdoutErrConsumer>();
  consumer->stderr_threshold(fd::Log::Kind::Info);
  fd::Log::RegisterConsumer(std::move(consumer));
}

Profile::Profile(const rmwbench_profile &profile, const std::string &environment_file)
    : text_(profile.text) {
  shut_out_the_environment();
  if (!environment_file.empty()) setenv("FASTDDS_ENVIRONMENT_FILE", environment_file.c_str(), 1);
  if (text_.find_first_not_of(" \t\r\n") == std::string::npos) return;
  const std::string object = std::string("profile ") + profile.name;
  if (std::string(profile.format) != "xml") {
    throw Fault{RMWBENCH_ERROR_INVALID, object,
                std::string("format: expected xml, found ") + profile.format};
  }
  load(text_, object);
  const auto participants = profiles_in(text_, "participant");
  participant_ = default_of(participants);
  if (!participants.empty() && participant_.empty()) {
    throw Fault{RMWBENCH_ERROR_INVALID, object,
                "no participant is marked is_default_profile=\"true\", so Fast DDS would ignore "
                "it; mark the one to use"};
  }
  writer_ = default_of(profiles_in(text_, "data_writer"));
  reader_ = default_of(profiles_in(text_, "data_reader"));
  loaded_ = true;
}

fd::DomainParticipantQos Profile::participant() const {
  fd::DomainParticipantQos qos = fd::PARTICIPANT_QOS_DEFAULT;
  if (!participant_.empty()) {
    fd::DomainParticipantFactory::get_instance()->get_participant_qos_from_profile(participant_,
                                                                                   qos);
  }
  return qos;
}

fd::DataWriterQos Profile::writer(const fd::Publisher &publisher, const char *topic) const {
  fd::DataWriterQos qos = fd::DATAWRITER_QOS_DEFAULT;
  if (!writer_.empty()) publisher.get_datawriter_qos_from_profile(writer_, qos);
  const std::string own = std::string("/") + topic;
  if (loaded_ && holds(profiles_in(text_, "data_writer"), own))
    publisher.get_datawriter_qos_from_profile(own, qos);
  return qos;
}

fd::DataReaderQos Profile::reader(const fd::Subscriber &subscriber, const char *topic) const {
  fd::DataReaderQos qos = fd::DATAREADER_QOS_DEFAULT;
  if (!reader_.empty()) subscriber.get_datareader_qos_from_profile(reader_, qos);
  const std::string own = std::string("/") + topic;
  if (loaded_ && holds(profiles_in(text_, "data_reader"), own))
    subscriber.get_datareader_qos_from_profile(own, qos);
  return qos;
}

}  // namespace rmwbench
