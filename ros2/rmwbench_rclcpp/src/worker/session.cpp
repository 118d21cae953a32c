#include "session.hpp"

#include <cstdlib>
#include <utility>

#include <rmwbench_fault.hpp>

#include "executor_loop.hpp"
#include "lifecycle.hpp"
#include "pool.hpp"
#include "zenoh_overrides.hpp"

using namespace rmwbench;

namespace {

// Two users use the process's own context, whatever context they are given: in Jazzy an action
// server under the EventsExecutor, and in Lyrical the EventsCBGExecutor.
rclcpp::Context::SharedPtr first_context(const Settings &settings) {
  const bool action = settings.calls == Calls::action && settings.executor == Executor::events;
  if (action || settings.executor == Executor::events_cbg)
    return rclcpp::contexts::get_global_default_context();
  return std::make_shared<rclcpp::Context>();
}

// Initialises the context with the trial's settings, and returns it.
rclcpp::Context::SharedPtr initialised(rclcpp::Context::SharedPtr context,
                                       const Settings &settings) {
  rclcpp::InitOptions options;
  options.shutdown_on_signal = false;
  if (settings.domain_id) options.set_domain_id(*settings.domain_id);
  const ZenohOverrides overrides;
  context->init(0, nullptr, options);
  if (const std::string refused = overrides.refused(); !refused.empty()) {
    context->shutdown("its configuration is not in force");
    throw Fault{RMWBENCH_ERROR_FAILED, "session",
                settings.rmw + " did not take all that it was configured with: " + refused};
  }
  return context;
}

}  // namespace

rmwbench_session::rmwbench_session(const Settings &settings_in)
    : settings(settings_in),
      context(initialised(first_context(settings), settings)),
      executor(std::make_unique<ExecutorLoop>(settings, context)) {}

rmwbench_session::~rmwbench_session() {
  executor.reset();
  retired_.clear();
  context->shutdown("the session is closed");
}

rclcpp::NodeOptions rmwbench_session::node_options() const {
  rclcpp::NodeOptions options;
  options.context(context);
  options.use_global_arguments(false);
  options.use_intra_process_comms(settings.intra_process);
  if (settings.bare_nodes) {
    options.start_parameter_services(false);
    options.start_parameter_event_publisher(false);
    options.enable_rosout(false);
  }
  return options;
}

rclcpp::Node::SharedPtr rmwbench_session::make_node(const std::string &name) {
  auto node = std::make_shared<rclcpp::Node>(name, node_options());
  executor->add(node->get_node_base_interface());
  return node;
}

void rmwbench_session::remove_node(const rclcpp::Node::SharedPtr &node) {
  executor->remove(node->get_node_base_interface());
}

void rmwbench_session::retire(std::shared_ptr<void> removed) {
  std::lock_guard<std::mutex> lock(mutex_);
  retired_.push_back(std::move(removed));
}

void rmwbench_session::await_pool(rclcpp::Node &node) {
  if (settings.pool_bytes > 0)
    std::call_once(pool_, [&] { rmwbench::await_pool(node, settings.pool_bytes); });
}

namespace {

NodeKind kind_of(const Settings &settings, const std::string &name) {
  if (settings.lifecycle_nodes.count(name) != 0) return NodeKind::lifecycle;
  return settings.manages.manager == name ? NodeKind::manager : NodeKind::plain;
}

}  // namespace

rmwbench_node::rmwbench_node(rmwbench_session &session_in, const char *name_in)
    : session(session_in), name(name_in), kind(kind_of(session_in.settings, name)) {
  const Settings &settings = session.settings;
  switch (kind) {
    case NodeKind::plain:
      node = session.make_node(name);
      break;
    case NodeKind::manager:
      node = session.make_node(name);
      role = lifecycle_library().make_manager(node, settings.manages);
      break;
    case NodeKind::lifecycle:
      role = lifecycle_library().make_node(name, session.node_options(),
                                           settings.lifecycle_nodes.at(name));
      session.executor->add(role->base());
      break;
  }
}

rmwbench_node::~rmwbench_node() {
  if (role) role->stop();
  if (kind == NodeKind::lifecycle) {
    session.executor->remove(role->base());
    if (!ExecutorLoop::left(*role->base())) session.retire(std::move(role));
  }
  role.reset();
  if (node) session.remove_node(node);
}
