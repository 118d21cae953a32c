// Parts of Fast DDS that are on or off: DDS-Security, the statistics module.
#pragma once

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>

#include "asked.hpp"

namespace rmwbench {

// Built-in plugins PKI-DH, Access-Permissions and AES-GCM-GMAC with the files in
// asked.security_directory.
void apply_security(const Asked &asked, eprosima::fastdds::dds::DomainParticipantQos &qos);

// Every topic of the statistics module. Nothing is counted by us: what it costs is the question.
void apply_statistics(const Asked &asked, eprosima::fastdds::dds::DomainParticipantQos &qos);

}  // namespace rmwbench
