// Flow controllers: what schedules asynchronous writers, and how many bytes may leave in a period.
#pragma once

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>

#include <rmwbench_worker.h>

#include "asked.hpp"

namespace rmwbench {

void apply_flow(const Asked &asked, eprosima::fastdds::dds::DomainParticipantQos &qos);

// A writer whose topic goes through the controller becomes asynchronous: synchronous ones are not
// scheduled. Throws Fault when the suite asked for synchronous publishing.
void apply_flow(const Asked &asked, const rmwbench_endpoint_config &config,
                eprosima::fastdds::dds::DataWriterQos &qos);

}  // namespace rmwbench
