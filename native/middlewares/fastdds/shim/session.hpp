// A session is one DomainParticipant with one Publisher and one Subscriber, as in rmw_fastrtps: a
// ROS 2 node is a name in the ROS graph and no DDS entity, so nodes share these entities and cost
// nothing here either.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include <rmwbench_worker.h>

#include "arm_settings.hpp"
#include "fastdds_api.hpp"
#include "filter.hpp"
#include "profile.hpp"
#include "pumps.hpp"
#include "raw_type.hpp"
#include "server_list.hpp"

struct rmwbench_session {
  rmwbench_session(const rmwbench_profile &profile, rmwbench::ArmSettings settings,
                   uint32_t domain_id);
  ~rmwbench_session();

  // The participant's topic with that name, made on first use; every call is paired with
  // release_topic().
  rmwbench::fd::Topic *topic(const char *name, const char *type, uint32_t endpoint);
  void release_topic(rmwbench::fd::Topic *topic);
  // Reports the settings that are granted to every endpoint and have no effect on some.
  void tell(rmwbench_granted &granted) const;
  // The type of a topic that exists.
  rmwbench::RawType *type(const char *name) const;

  const rmwbench::ArmSettings settings;
  rmwbench::ServerList servers;
  const rmwbench::Profile profile;
  // Whether topics have plain types, which Fast DDS lends and shares (raw_type.hpp). All endpoints
  // of a trial have the same value, because all have its arm.
  bool plain_types = false;
  // See apply_transports.
  bool memory_beside_sockets = false;
  rmwbench::Filters filters;
  rmwbench::fd::DomainParticipant *participant = nullptr;
  rmwbench::fd::Publisher *publisher = nullptr;
  rmwbench::fd::Subscriber *subscriber = nullptr;
  rmwbench::Pumps pumps;

 private:
  struct Shared {
    rmwbench::fd::Topic *topic;
    int users;
  };

  void add_server_now();
  void close();

  std::mutex topics_mutex_;
  std::map<std::string, Shared> topics_;
};

struct rmwbench_node {
  rmwbench_session &session;
};
