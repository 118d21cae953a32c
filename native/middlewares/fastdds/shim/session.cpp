#include "session.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include <rmwbench_fault.hpp>

#include "discovery.hpp"
#include "features.hpp"
#include "flow.hpp"
#include "transports.hpp"

using namespace rmwbench;

namespace {

bool shares_data(const Profile &profile, const fd::Publisher &publisher) {
  return profile.writer(publisher, "").data_sharing().kind() == fd::ON;
}

// Whether a participant stays until the process ends. A TCP thread of 2.x that still receives calls
// into memory that the participant's destructor has freed (seven starts of nineteen with 2.9.1);
// 3.6.2 waits for its threads.
bool is_never_deleted(const ArmSettings &settings) {
  return RMWBENCH_FASTDDS_MAJOR < 3 && settings.transport == Transport::tcp;
}

// Otherwise the destructors of static objects would delete it.
void end_without_static_destructors() {
  static const int once = on_exit(
      [](int status, void *) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
  (void)once;
}

}  // namespace

rmwbench_session::rmwbench_session(const rmwbench_profile &named, ArmSettings what,
                                   uint32_t domain_id)
    : settings(std::move(what)),
      servers(settings.server_added_s && settings.server_added_by_file ? settings.server_count : 0),
      profile(named, servers.path()) {
  if (domain_id > 232) {
    throw Fault{RMWBENCH_ERROR_INVALID, "domain_id",
                "expected 0 to 232, found " + std::to_string(domain_id)};
  }
  log_to_stderr();
  fd::DomainParticipantQos qos = profile.participant();
  if (qos.name().size() == 0) {
    qos.name("rmwbench");
  }
  memory_beside_sockets = apply_transports(settings, qos);
  apply_intra_process(settings);
  apply_discovery(settings, qos);
  if (settings.discovery == Discovery::server && servers_listening(settings.server_count) == 0) {
    throw Fault{RMWBENCH_ERROR_INVALID, "option daemons",
                "discovery: server, and no discovery server listens in this host; the arm needs "
                "the option daemons: server (or the profile "
                "discovery_server)"};
  }
  keep_to_loopback(qos);
  apply_flow(settings, qos);
  apply_security(settings, qos);
  apply_statistics(settings, qos);
  participant = fd::DomainParticipantFactory::get_instance()->create_participant(domain_id, qos);
  if (participant == nullptr) {
    throw Fault{RMWBENCH_ERROR_FAILED, "participant",
                "Fast DDS could not create a participant; its words are on stderr"};
  }
  publisher = participant->create_publisher(participant->get_default_publisher_qos());
  subscriber = participant->create_subscriber(participant->get_default_subscriber_qos());
  if (publisher == nullptr || subscriber == nullptr ||
      participant->register_content_filter_factory(Filters::class_name, &filters) != ok) {
    close();
    throw Fault{RMWBENCH_ERROR_FAILED, "participant",
                "Fast DDS could not create its publisher, subscriber and content filter"};
  }
  if (settings.server_added_s)
    servers.add_after(*settings.server_added_s, [this] { add_server_now(); });
  plain_types = settings.plain_types ||
                (settings.data_sharing && *settings.data_sharing != DataSharing::off) ||
                shares_data(profile, *publisher);
}

void rmwbench_session::add_server_now() {
  if (settings.server_added_by_file) return servers.extend();
  fd::DomainParticipantQos qos = participant->get_qos();
  add_server(settings.server_count, qos);
  // The call returns success even if it does nothing; whether it worked is visible in the
  // participants that are found.
  participant->set_qos(qos);
}

void rmwbench_session::tell(rmwbench_granted &granted) const {
  if (!memory_beside_sockets) return;
  granted.note(
      granted.context,
      "congestion is about sockets: without effect within a host, where shared memory carries the "
      "messages");
}

rmwbench_session::~rmwbench_session() { close(); }

void rmwbench_session::close() {
  servers.stop();
  pumps.stop();
  participant->delete_contained_entities();
  participant->unregister_content_filter_factory(Filters::class_name);
  if (is_never_deleted(settings)) return end_without_static_destructors();
  fd::DomainParticipantFactory::get_instance()->delete_participant(participant);
}

fd::Topic *rmwbench_session::topic(const char *name, const char *type, uint32_t endpoint) {
  std::lock_guard<std::mutex> lock(topics_mutex_);
  const auto known = topics_.find(name);
  if (known != topics_.end()) {
    if (known->second.topic->get_type_name() != type) {
      throw Fault{RMWBENCH_ERROR_INVALID, endpoint_name(endpoint),
                  std::string("topic ") + name + " has type " +
                      known->second.topic->get_type_name() + " already, asked for " + type};
    }
    ++known->second.users;
    return known->second.topic;
  }
  fd::TypeSupport support = participant->find_type(type);
  if (support.empty()) {
    support.reset(new RawType(type, plain_types));
    if (support.register_type(participant) != ok) {
      throw Fault{RMWBENCH_ERROR_FAILED, endpoint_name(endpoint),
                  std::string("Fast DDS refused type ") + type};
    }
  }
  fd::Topic *new_topic = participant->create_topic(name, type, fd::TOPIC_QOS_DEFAULT);
  if (new_topic == nullptr) {
    throw Fault{RMWBENCH_ERROR_FAILED, endpoint_name(endpoint),
                std::string("Fast DDS could not create topic ") + name};
  }
  topics_[name] = Shared{new_topic, 1};
  return new_topic;
}

RawType *rmwbench_session::type(const char *name) const {
  return static_cast<RawType *>(participant->find_type(name).get());
}

void rmwbench_session::release_topic(fd::Topic *topic) {
  std::lock_guard<std::mutex> lock(topics_mutex_);
  const auto known = topics_.find(topic->get_name());
  if (--known->second.users == 0) {
    topics_.erase(known);
    participant->delete_topic(topic);
  }
}
