// The two ends of an action over rmwbench_msgs/action/Bytes. The worker library loads the library
// that makes them (rmwbench_rclcpp_actions) only where a trial asks for it. Both are compiled
// together, so plain C++ crosses between them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <rclcpp/rclcpp.hpp>

#include <rmwbench_worker.h>

namespace rmwbench {

class ActionClient {
 public:
  virtual ~ActionClient() = default;
  // Sends a goal; the result is fetched as soon as the goal is accepted.
  virtual void send(const uint8_t *payload, size_t bytes) = 0;
  // Whether each of its services and topics has found the server's.
  virtual bool ready() const = 0;
  // How many goals were rejected, and how many ended without success: they bring no reply.
  virtual void account(const rmwbench_account &account) const = 0;
  // What an executor holds while a callback runs.
  virtual std::weak_ptr<void> held() const = 0;
};

class ActionServer {
 public:
  virtual ~ActionServer() = default;
  virtual std::weak_ptr<void> held() const = 0;
};

// An action of this name, served in this callback group, whose services for goals and results have
// this QoS.
struct ActionName {
  rclcpp::Node::SharedPtr node;
  rclcpp::CallbackGroup::SharedPtr group;
  std::string name;
  rclcpp::QoS qos;
};

using OnResult = std::function<void(const uint8_t *payload, size_t bytes)>;
// Ends the goal as succeeded, with this result.
using Succeed = std::function<rmwbench_status(const uint8_t *payload, size_t bytes)>;
// A goal that was accepted; called where its execution begins.
using OnGoal = std::function<void(const uint8_t *payload, size_t bytes, const Succeed &succeed)>;

// Found by the name `rmwbench_rclcpp_actions`.
struct ActionLibrary {
  std::unique_ptr<ActionClient> (*make_client)(const ActionName &action, const OnResult &on_result);
  std::unique_ptr<ActionServer> (*make_server)(const ActionName &action, const OnGoal &on_goal);
};

}  // namespace rmwbench
