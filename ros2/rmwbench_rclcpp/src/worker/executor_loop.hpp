// rclcpp's executor of the requested kind. It spins in a thread of its own, as `rclcpp::spin` does
// in main.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <rclcpp/rclcpp.hpp>

#include "settings.hpp"

namespace rmwbench {

class ExecutorLoop {
 public:
  // Throws Fault for a kind that this rclcpp does not have.
  ExecutorLoop(const Settings &settings, const rclcpp::Context::SharedPtr &context);
  ~ExecutorLoop();

  void add(const rclcpp::node_interfaces::NodeBaseInterface::SharedPtr &node);
  void remove(const rclcpp::node_interfaces::NodeBaseInterface::SharedPtr &node);

  // The executor's class, for the notes.
  const std::string &name() const { return name_; }

  // An executor holds the objects for which it waits: this wakes it until the object is gone.
  // `node` is the object's node.
  static void release(const std::weak_ptr<void> &object, rclcpp::Node &node);

  // For a node that was removed: waits until no callback of its services runs, none of which holds
  // the node. Returns false if one still runs after 2 s.
  static bool left(rclcpp::node_interfaces::NodeBaseInterface &node);

 private:
  std::shared_ptr<rclcpp::Executor> executor_;
  std::string name_;
  std::function<bool()> is_spinning_;
  std::atomic<bool> returned_{false};  // from spin(), at once if the context was already shut down
  std::thread thread_;
};

}  // namespace rmwbench
