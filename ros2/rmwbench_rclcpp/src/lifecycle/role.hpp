// The role of a node that is more than an rclcpp::Node with endpoints: a lifecycle node, or the
// manager of several. The worker library loads the library that makes them
// (rmwbench_rclcpp_lifecycle) only if a trial has such nodes. Both libraries are compiled together,
// so plain C++ may cross between them.
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
  // Its present action ends within 200 ms, unfinished.
  virtual void stop() = 0;
};

// The library's functions; the symbol is `rmwbench_rclcpp_lifecycle`.
struct LifecycleLibrary {
  // The caller adds the node to its executor by the node's base interface.
  std::shared_ptr<Role> (*make_node)(const std::string &name, const rclcpp::NodeOptions &options,
                                     const LifecycleTimes &times);
  // Begins at once, in a thread of its own; the caller's executor spins `node`.
  std::shared_ptr<Role> (*make_manager)(const rclcpp::Node::SharedPtr &node,
                                        const Manages &manages);
};

std::shared_ptr<Role> make_lifecycle_node(const std::string &name,
                                          const rclcpp::NodeOptions &options,
                                          const LifecycleTimes &times);
std::shared_ptr<Role> make_manager(const rclcpp::Node::SharedPtr &node, const Manages &manages);

}  // namespace rmwbench
