// The mode `discovery`: how participants find each other, and the discovery server that this worker
// runs as a daemon.
//
// Everything of a trial's host lies in one network namespace, so peers and servers are looked for
// on 127.0.0.1.
#pragma once

#include <string>

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>

#include "asked.hpp"

namespace rmwbench {

void apply_discovery(const Asked &asked, eprosima::fastdds::dds::DomainParticipantQos &qos);

// What a participant needs to be server `number` (0 to 15) of its host.
void become_server(uint32_t number, bool persistent,
                   eprosima::fastdds::dds::DomainParticipantQos &qos);

// Lets a client look for server `number` too.
void add_server(uint32_t number, eprosima::fastdds::dds::DomainParticipantQos &qos);

// Where servers listen, and on which port server `number` does, where ROS 2 looks for it.
std::string server_address();
uint16_t server_port(uint32_t number);

// Servers that listen now, of the first `count`.
uint32_t servers_listening(uint32_t count);

}  // namespace rmwbench
