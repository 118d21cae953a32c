// What a node is beyond an rclcpp::Node with endpoints: a lifecycle node, or the manager of some.
// The worker library loads the library that makes them (rmwbench_rclcpp_lifecycle) only where a
// trial has some. Both are compiled together, so plain C++ crosses between them.
#pragma once

#include <memory>
#include <string>

#include <rclcpp/rclcpp.hpp>

#include "settings.hpp"

namespace rmwbench {

class Role {
 public:
  virtual ~Role() = default;
  virtual rclcpp::node_interfaces::NodeBaseInterface::SharedPtr base() const = 0;
  // What it does now comes to its end within 200 ms, undone.
  virtual void stop() = 0;
};

// Found by the name `rmwbench_rclcpp_lifecycle`.
struct LifecycleLibrary {
  // The executor is given its base by the caller.
  std::shared_ptr<Role> (*make_node)(const std::string &name, const rclcpp::NodeOptions &options,
                                     const LifecycleTimes &times);
  // Begins at once, in a thread of its own; `node` is spun by the caller's executor.
  std::shared_ptr<Role> (*make_manager)(const rclcpp::Node::SharedPtr &node,
                                        const Manages &manages);
};

std::shared_ptr<Role> make_lifecycle_node(const std::string &name,
                                          const rclcpp::NodeOptions &options,
                                          const LifecycleTimes &times);
std::shared_ptr<Role> make_manager(const rclcpp::Node::SharedPtr &node, const Manages &manages);

}  // namespace rmwbench
