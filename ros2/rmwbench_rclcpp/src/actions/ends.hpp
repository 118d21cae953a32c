// The two ends of an action over rmwbench_msgs/action/Bytes. The worker library loads the library
// that makes them (rmwbench_rclcpp_actions) only if a trial needs it. Both libraries are compiled
// together, so plain C++ may cross between them.
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
  // Whether each of the client's services and topics has found that of the server.
  virtual bool ready() const = 0;
  // Reports how many goals were rejected, and how many ended without success: they bring no reply.
  virtual void account(const rmwbench_account &account) const = 0;
  // An object that an executor holds while a callback runs.
  virtual std::weak_ptr<void> held_object() const = 0;
};

class ActionServer {
 public:
  virtual ~ActionServer() = default;
  virtual std::weak_ptr<void> held_object() const = 0;
};

// The name of an action; its server uses this callback group, and its services for goals and
// results have this QoS.
struct ActionName {
  rclcpp::Node::SharedPtr node;
  rclcpp::CallbackGroup::SharedPtr group;
  std::string name;
  rclcpp::QoS qos;
};

using OnResult = std::function<void(const uint8_t *payload, size_t bytes)>;
// Ends the goal as succeeded, with this result.
using Succeed = std::function<rmwbench_status(const uint8_t *payload, size_t bytes)>;
// Called with an accepted goal when its execution begins.
using OnGoal = std::function<void(const uint8_t *payload, size_t bytes, const Succeed &succeed)>;

// The library's functions; the symbol is `rmwbench_rclcpp_actions`.
struct ActionLibrary {
  std::unique_ptr<ActionClient> (*make_client)(const ActionName &action, const OnResult &on_result);
  std::unique_ptr<ActionServer> (*make_server)(const ActionName &action, const OnGoal &on_goal);
};

}  // namespace rmwbench
