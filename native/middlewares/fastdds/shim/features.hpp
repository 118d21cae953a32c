// Parts of Fast DDS that are on or off: DDS-Security, the statistics module.
#pragma once

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>

#include "arm_settings.hpp"

namespace rmwbench {

// Sets the built-in plugins PKI-DH, Access-Permissions and AES-GCM-GMAC, with the files in
// settings.security_directory.
void apply_security(const ArmSettings &settings, eprosima::fastdds::dds::DomainParticipantQos &qos);

// Enables every topic of the statistics module. This worker counts none of them: they are enabled
// to measure their cost.
void apply_statistics(const ArmSettings &settings,
                      eprosima::fastdds::dds::DomainParticipantQos &qos);

}  // namespace rmwbench
