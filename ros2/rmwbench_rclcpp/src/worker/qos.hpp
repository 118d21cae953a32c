// The portable QoS as rclcpp's, and back as the middleware granted it.
#pragma once

#include <string>

#include <rclcpp/qos.hpp>

#include <rmwbench_worker.h>

#include "settings.hpp"

namespace rmwbench {

// Throws Fault for a content filter or an instance key.
rclcpp::QoS asked_qos(const rmwbench_endpoint_config &config);

// The same of a topic's endpoint, with its deadline, lifespan and liveliness.
rclcpp::QoS asked_qos(const rmwbench_endpoint_config &config, const TopicQos &topic);

// In the words of a note: what is in force of these, or was asked for in vain.
std::string topic_qos_note(const rclcpp::QoS &actual, const std::string &rmw);

void tell_qos(const rclcpp::QoS &actual, rmwbench_granted &granted);

}  // namespace rmwbench
