#include "qos.hpp"

#include "fault.hpp"

namespace rmwbench {

rclcpp::QoS asked_qos(const rmwbench_endpoint_config &config) {
  const rmwbench_qos &asked = config.qos;
  if (asked.content_filter != nullptr) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
                "content_filter: rclcpp filters on typed fields, and the payload is an array of bytes"};
  }
  if (asked.instance_key != nullptr) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint), "instance_key: ROS 2 topics are keyless"};
  }
  rclcpp::QoS qos(asked.history == RMWBENCH_KEEP_ALL ? rclcpp::QoSInitialization(rclcpp::KeepAll())
                                                     : rclcpp::QoSInitialization(rclcpp::KeepLast(asked.depth)));
  qos.reliability(asked.reliability == RMWBENCH_RELIABLE ? rclcpp::ReliabilityPolicy::Reliable : rclcpp::ReliabilityPolicy::BestEffort);
  qos.durability(asked.durability == RMWBENCH_VOLATILE ? rclcpp::DurabilityPolicy::Volatile : rclcpp::DurabilityPolicy::TransientLocal);
  return qos;
}

void tell_qos(const rclcpp::QoS &actual, rmwbench_granted &granted) {
  granted.qos.reliability = actual.reliability() == rclcpp::ReliabilityPolicy::Reliable ? RMWBENCH_RELIABLE : RMWBENCH_BEST_EFFORT;
  granted.qos.durability = actual.durability() == rclcpp::DurabilityPolicy::Volatile ? RMWBENCH_VOLATILE : RMWBENCH_TRANSIENT_LOCAL;
  granted.qos.history = actual.history() == rclcpp::HistoryPolicy::KeepAll ? RMWBENCH_KEEP_ALL : RMWBENCH_KEEP_LAST;
  granted.qos.depth = granted.qos.history == RMWBENCH_KEEP_ALL ? 0 : static_cast<uint32_t>(actual.depth());
}

}  // namespace rmwbench
