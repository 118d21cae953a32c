#include "qos.hpp"

#include <chrono>

#include <rmwbench_fault.hpp>

namespace rmwbench {
namespace {

rclcpp::Duration milliseconds(uint32_t value) {
  return rclcpp::Duration(std::chrono::milliseconds(value));
}

// Every RMW has its own largest duration for an infinite one; a year is longer than any trial.
std::string duration_text(const rclcpp::Duration &duration) {
  constexpr int64_t millisecond = 1'000'000, year = INT64_C(365) * 86'400'000 * millisecond;
  const int64_t ns = duration.nanoseconds();
  return ns <= 0 || ns >= year ? "without an end" : std::to_string(ns / millisecond) + " ms";
}

}  // namespace

rclcpp::QoS asked_qos(const rmwbench_endpoint_config &config) {
  const rmwbench_qos &asked = config.qos;
  if (asked.content_filter != nullptr) {
    throw Fault{
        RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
        "content_filter: rclcpp filters on typed fields, and the payload is an array of bytes"};
  }
  if (asked.instance_key != nullptr) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
                "instance_key: ROS 2 topics are keyless"};
  }
  rclcpp::QoS qos(asked.history == RMWBENCH_KEEP_ALL
                      ? rclcpp::QoSInitialization(rclcpp::KeepAll())
                      : rclcpp::QoSInitialization(rclcpp::KeepLast(asked.depth)));
  qos.reliability(asked.reliability == RMWBENCH_RELIABLE ? rclcpp::ReliabilityPolicy::Reliable
                                                         : rclcpp::ReliabilityPolicy::BestEffort);
  qos.durability(asked.durability == RMWBENCH_VOLATILE ? rclcpp::DurabilityPolicy::Volatile
                                                       : rclcpp::DurabilityPolicy::TransientLocal);
  return qos;
}

rclcpp::QoS asked_qos(const rmwbench_endpoint_config &config, const TopicQos &topic) {
  rclcpp::QoS qos = asked_qos(config);
  if (topic.deadline_ms) qos.deadline(milliseconds(*topic.deadline_ms));
  if (topic.lifespan_ms) qos.lifespan(milliseconds(*topic.lifespan_ms));
  if (topic.manual_liveliness) qos.liveliness(rclcpp::LivelinessPolicy::ManualByTopic);
  if (topic.lease_ms) qos.liveliness_lease_duration(milliseconds(*topic.lease_ms));
  return qos;
}

std::string topic_qos_note(const rclcpp::QoS &actual, const std::string &rmw) {
  const bool manual = actual.liveliness() == rclcpp::LivelinessPolicy::ManualByTopic;
  const bool kept = rmw != "rmw_zenoh_cpp";
  return std::string(kept ? "QoS in force" : "QoS asked for, and kept by nothing in rmw_zenoh") +
         ": deadline " + duration_text(actual.deadline()) + ", lifespan " +
         duration_text(actual.lifespan()) + ", liveliness " +
         (manual ? "manual by topic" : "automatic") + " with a lease " +
         duration_text(actual.liveliness_lease_duration());
}

void tell_qos(const rclcpp::QoS &actual, rmwbench_granted &granted) {
  granted.qos.reliability = actual.reliability() == rclcpp::ReliabilityPolicy::Reliable
                                ? RMWBENCH_RELIABLE
                                : RMWBENCH_BEST_EFFORT;
  granted.qos.durability = actual.durability() == rclcpp::DurabilityPolicy::Volatile
                               ? RMWBENCH_VOLATILE
                               : RMWBENCH_TRANSIENT_LOCAL;
  granted.qos.history =
      actual.history() == rclcpp::HistoryPolicy::KeepAll ? RMWBENCH_KEEP_ALL : RMWBENCH_KEEP_LAST;
  granted.qos.depth =
      granted.qos.history == RMWBENCH_KEEP_ALL ? 0 : static_cast<uint32_t>(actual.depth());
}

}  // namespace rmwbench
