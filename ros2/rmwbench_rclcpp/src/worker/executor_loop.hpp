// rclcpp's executor of the kind that was asked, spinning in a thread of its own as `rclcpp::spin`
// does in main.
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

  // The class, for the notes.
  const std::string &name() const { return name_; }

  // An executor holds on to what it waits for: wakes it until the object is gone. `node` is its
  // node.
  static void release(const std::weak_ptr<void> &object, rclcpp::Node &node);

  // Of a node that was removed: waits until no callback of its services runs, none of which holds
  // the node. False where one still does after 2 s.
  static bool left(rclcpp::node_interfaces::NodeBaseInterface &node);

 private:
  std::shared_ptr<rclcpp::Executor> executor_;
  std::string name_;
  std::function<bool()> is_spinning_;
  std::atomic<bool> returned_{
      false};  // from spin(), which it does at once where the context was shut down before
  std::thread thread_;
};

}  // namespace rmwbench
