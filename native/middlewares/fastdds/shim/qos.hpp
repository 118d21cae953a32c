// Translates quality of service from ROS 2's terms to Fast DDS's and back, as rmw_fastrtps does.
#pragma once

#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>

#include <rmwbench_worker.h>

#include "arm_settings.hpp"

namespace rmwbench {

// On entry `qos` is that of the profile; settings of the suite override the profile, the rest of
// the profile stays. `plain_bytes` is the size of the type's samples if it is plain, else 0.
void apply(const rmwbench_endpoint_config &config, const ArmSettings &settings, size_t plain_bytes,
           eprosima::fastdds::dds::DataWriterQos &qos);
void apply(const rmwbench_endpoint_config &config, const ArmSettings &settings, size_t plain_bytes,
           eprosima::fastdds::dds::DataReaderQos &qos);

// Sets the settings of an arm that apply to every writer.
void apply_times(const ArmSettings &settings, eprosima::fastdds::dds::DataWriterQos &qos);

// Reports the QoS of the entity, with notes about what its values do not show.
void tell(const eprosima::fastdds::dds::DataWriterQos &qos, const ArmSettings &settings,
          rmwbench_granted &granted);
void tell(const eprosima::fastdds::dds::DataReaderQos &qos, const ArmSettings &settings,
          rmwbench_granted &granted);

}  // namespace rmwbench
