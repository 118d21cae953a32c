// Flow controllers: they schedule asynchronous writers, and limit how many bytes may be sent in a
// period.
#pragma once

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>

#include <rmwbench_worker.h>

#include "arm_settings.hpp"

namespace rmwbench {

void apply_flow(const ArmSettings &settings, eprosima::fastdds::dds::DomainParticipantQos &qos);

// A writer whose topic goes through the controller becomes asynchronous: synchronous ones are not
// scheduled. Throws Fault if the suite requested synchronous publishing.
void apply_flow(const ArmSettings &settings, const rmwbench_endpoint_config &config,
                eprosima::fastdds::dds::DataWriterQos &qos);

}  // namespace rmwbench
