// The portable QoS as that of rclcpp, and back as the middleware granted it.
#pragma once

#include <string>

#include <rclcpp/qos.hpp>

#include <rmwbench_worker.h>

#include "settings.hpp"

namespace rmwbench {

// Returns the QoS of rclcpp. Throws Fault for a content filter or an instance key.
rclcpp::QoS asked_qos(const rmwbench_endpoint_config &config);

// As above for an endpoint of a topic, with its deadline, lifespan and liveliness.
rclcpp::QoS asked_qos(const rmwbench_endpoint_config &config, const TopicQos &topic);

// The text of a note: which of these settings are in force, and which were requested without
// effect.
std::string topic_qos_note(const rclcpp::QoS &actual, const std::string &rmw);

void tell_qos(const rclcpp::QoS &actual, rmwbench_granted &granted);

}  // namespace rmwbench
