// The mode `discovery`: how participants find each other, and the discovery server that this worker
// runs as a daemon.
//
// All processes of a trial's host are in one network namespace, so peers and servers are searched
// for on 127.0.0.1.
#pragma once

#include <string>

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>

#include "arm_settings.hpp"

namespace rmwbench {

void apply_discovery(const ArmSettings &settings,
                     eprosima::fastdds::dds::DomainParticipantQos &qos);

// Sets what a participant needs to be server `number` (0 to 15) of its host.
void become_server(uint32_t number, bool persistent,
                   eprosima::fastdds::dds::DomainParticipantQos &qos);

// Makes a client search for server `number`, too.
void add_server(uint32_t number, eprosima::fastdds::dds::DomainParticipantQos &qos);

// The address on which servers listen, and the port of server `number`, where ROS 2 searches for
// it.
std::string server_address();
uint16_t server_port(uint32_t number);

// How many of the first `count` servers listen now.
uint32_t servers_listening(uint32_t count);

}  // namespace rmwbench
