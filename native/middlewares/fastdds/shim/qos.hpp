// ROS 2's words for quality of service to Fast DDS's and back, as rmw_fastrtps translates them.
#pragma once

#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>

#include <rmwbench_worker.h>

#include "asked.hpp"

namespace rmwbench {

// `qos` comes in as the profile has it; what the suite asks stands above the profile, the rest of
// the profile stays. `plain_bytes` is the size of the type's samples where it is plain, 0 where it
// is not.
void apply(const rmwbench_endpoint_config &config, const Asked &asked, size_t plain_bytes,
           eprosima::fastdds::dds::DataWriterQos &qos);
void apply(const rmwbench_endpoint_config &config, const Asked &asked, size_t plain_bytes,
           eprosima::fastdds::dds::DataReaderQos &qos);

// Settings of an arm that hold for every writer.
void apply_times(const Asked &asked, eprosima::fastdds::dds::DataWriterQos &qos);

// What the entity has; tells in notes what its numbers do not say.
void tell(const eprosima::fastdds::dds::DataWriterQos &qos, const Asked &asked,
          rmwbench_granted &granted);
void tell(const eprosima::fastdds::dds::DataReaderQos &qos, const Asked &asked,
          rmwbench_granted &granted);

}  // namespace rmwbench
