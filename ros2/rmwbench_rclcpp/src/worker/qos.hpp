// The portable QoS as rclcpp's, and back as the middleware granted it.
#pragma once

#include <rclcpp/qos.hpp>

#include <rmwbench_worker.h>

namespace rmwbench {

// Throws Fault for a content filter or an instance key.
rclcpp::QoS asked_qos(const rmwbench_endpoint_config &config);

void tell_qos(const rclcpp::QoS &actual, rmwbench_granted &granted);

}  // namespace rmwbench
