// One ROS context per process.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <rclcpp/rclcpp.hpp>

#include "settings.hpp"

namespace rmwbench {
class ExecutorLoop;
class TakeLoop;
class Publishing;
class Role;

// What a node is in this trial.
enum class NodeKind {
  plain,      // an rclcpp node with endpoints
  manager,    // the same, and what brings lifecycle nodes up
  lifecycle,  // an rclcpp_lifecycle node, without endpoints of ours
};
}  // namespace rmwbench

struct rmwbench_session {
  explicit rmwbench_session(const rmwbench::Settings &settings);
  ~rmwbench_session();

  // With the trial's settings.
  rclcpp::NodeOptions node_options() const;

  // A new rclcpp node; the executor has it where there is one.
  rclcpp::Node::SharedPtr make_node(const std::string &name);
  void remove_node(const rclcpp::Node::SharedPtr &node);

  // Keeps what was removed until the executor has ended: rclcpp does not wait for a callback that
  // runs, and some callbacks call into an object without holding it (a lifecycle node's own
  // services, image_transport's decoders).
  void retire(std::shared_ptr<void> removed);

  // Has the pool of shared memory made, if the RMW has one; the first publisher does it.
  void await_pool(rclcpp::Node &node);

  // The loop that serves endpoints which wait in this way (RMWBENCH_WAIT_…): NULL where the
  // executor does.
  rmwbench::TakeLoop *loop(int32_t wait);

  const rmwbench::Settings settings;
  const rclcpp::Context::SharedPtr context;

  // NULL with the wait set.
  std::unique_ptr<rmwbench::ExecutorLoop> executor;

 private:
  std::mutex mutex_;
  std::once_flag pool_;
  std::unique_ptr<rmwbench::TakeLoop> blocking_;
  std::unique_ptr<rmwbench::TakeLoop> polling_;
  std::vector<std::shared_ptr<void>> retired_;
};

// A named holder of endpoints.
struct rmwbench_node {
  rmwbench_node(rmwbench_session &session, const char *name);
  ~rmwbench_node();

  rmwbench_session &session;
  const std::string name;
  const rmwbench::NodeKind kind;
  rclcpp::Node::SharedPtr node;          // of a lifecycle node: none
  std::shared_ptr<rmwbench::Role> role;  // the lifecycle node or the manager; of a plain node: none
};
