// One ROS context per process; a second one only where publishers ask for a publish mode that the
// RMW knows per participant.
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

  // With the trial's settings, in a context of this session.
  rclcpp::NodeOptions node_options(const rclcpp::Context::SharedPtr &context) const;

  // A new rclcpp node in the context `publishing` wants; the executor has it where there is one.
  rclcpp::Node::SharedPtr make_node(const std::string &name,
                                    const rclcpp::Context::SharedPtr &context);
  void remove_node(const rclcpp::Node::SharedPtr &node);
  // Whether the executor has this node, and so hears its events.
  bool executes(rclcpp::Node &node) const;

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
  rclcpp::Context::SharedPtr context;
  // Of asynchronous publishers, where the RMW has them per context; made when the first one asks.
  rclcpp::Context::SharedPtr asynchronous_context();

  // NULL with the wait set.
  std::unique_ptr<rmwbench::ExecutorLoop> executor;

 private:
  // Has this context begin with the trial's settings.
  rclcpp::Context::SharedPtr make_context(rclcpp::Context::SharedPtr made) const;

  std::mutex mutex_;
  std::once_flag pool_;
  rclcpp::Context::SharedPtr asynchronous_;
  std::unique_ptr<rmwbench::TakeLoop> blocking_;
  std::unique_ptr<rmwbench::TakeLoop> polling_;
  std::vector<std::shared_ptr<void>> retired_;
};

// A named holder of endpoints. Its rclcpp node exists from the start; a second one of the same name
// lives in the asynchronous context once an asynchronous publisher was asked of it.
struct rmwbench_node {
  rmwbench_node(rmwbench_session &session, const char *name);
  ~rmwbench_node();

  rclcpp::Node::SharedPtr asynchronous();

  rmwbench_session &session;
  const std::string name;
  const rmwbench::NodeKind kind;
  rclcpp::Node::SharedPtr node;          // of a lifecycle node: none
  std::shared_ptr<rmwbench::Role> role;  // the lifecycle node or the manager; of a plain node: none

 private:
  std::mutex mutex_;
  rclcpp::Node::SharedPtr asynchronous_;
};
