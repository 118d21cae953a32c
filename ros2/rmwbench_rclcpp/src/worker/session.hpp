// One ROS context per process.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <rclcpp/rclcpp.hpp>

#include "settings.hpp"

namespace rmwbench {
class ExecutorLoop;
class Publishing;
class Role;

// The kind of a node in this trial.
enum class NodeKind {
  plain,      // an rclcpp node with endpoints
  manager,    // the same, with a manager of lifecycle nodes
  lifecycle,  // an rclcpp_lifecycle node, without endpoints of ours
};
}  // namespace rmwbench

struct rmwbench_session {
  explicit rmwbench_session(const rmwbench::Settings &settings);
  ~rmwbench_session();

  // Options with the trial's settings.
  rclcpp::NodeOptions node_options() const;

  // Makes an rclcpp node and adds it to the executor.
  rclcpp::Node::SharedPtr make_node(const std::string &name);
  void remove_node(const rclcpp::Node::SharedPtr &node);

  // Keeps a removed object until the executor has ended: rclcpp does not wait for a callback that
  // runs, and some callbacks call into an object without holding it (a lifecycle node's own
  // services, image_transport's decoders).
  void retire(std::shared_ptr<void> removed);

  // Waits until the pool of shared memory is made, if the RMW has one; the first publisher does it.
  void await_pool(rclcpp::Node &node);

  const rmwbench::Settings settings;
  const rclcpp::Context::SharedPtr context;
  std::unique_ptr<rmwbench::ExecutorLoop> executor;  // it alone serves all readers

 private:
  std::mutex mutex_;
  std::once_flag pool_;
  std::vector<std::shared_ptr<void>> retired_;
};

// A named holder of endpoints.
struct rmwbench_node {
  rmwbench_node(rmwbench_session &session, const char *name);
  ~rmwbench_node();

  rmwbench_session &session;
  const std::string name;
  const rmwbench::NodeKind kind;
  rclcpp::Node::SharedPtr node;          // NULL for a lifecycle node
  std::shared_ptr<rmwbench::Role> role;  // lifecycle node or manager; NULL if plain
};
