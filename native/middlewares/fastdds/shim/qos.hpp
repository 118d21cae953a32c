// ROS 2's words for quality of service to Fast DDS's and back, as rmw_fastrtps translates them.
#pragma once

#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>

#include <rmwbench_worker.h>

namespace rmwbench {

// `qos` comes in as the profile has it; what the suite asks stands above the profile, the rest of the profile stays.
void apply(const rmwbench_endpoint_config &config, eprosima::fastdds::dds::DataWriterQos &qos);
void apply(const rmwbench_endpoint_config &config, eprosima::fastdds::dds::DataReaderQos &qos);

// What the entity has; tells in notes what its numbers do not say.
void tell(const eprosima::fastdds::dds::DataWriterQos &qos, rmwbench_granted &granted);
void tell(const eprosima::fastdds::dds::DataReaderQos &qos, rmwbench_granted &granted);

}  // namespace rmwbench
