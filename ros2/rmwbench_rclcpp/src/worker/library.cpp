// The functions of the table that need rclcpp. The program has the others (src/program).

#include <rclcpp/node_interfaces/node_base.hpp>

#include <rmwbench_fault.hpp>

#include "action.hpp"
#include "endpoints.hpp"
#include "fastrtps.hpp"
#include "graph.hpp"
#include "images.hpp"
#include "registry.hpp"
#include "requests.hpp"
#include "service.hpp"
#include "settings.hpp"

#include <rmwbench_table.hpp>  // after the classes that it calls

using namespace rmwbench;

namespace {

// The DDS RMWs make their participant with a context's first node, and it is removed with the last.
// This node exists as long as the session, so that a session is a participant, as it is for the
// middlewares' own workers. It is only a node's base: each `rclcpp::Node` has a reader of
// /parameter_events and, since Jazzy, a service that describes types, whatever its options say.
// rmw_zenoh opens its session with the context and needs no such node. A process has one session.
rclcpp::node_interfaces::NodeBaseInterface::SharedPtr keeper;

rclcpp::node_interfaces::NodeBaseInterface::SharedPtr keep_participant(
    const rmwbench_session &session) {
  rclcpp::NodeOptions options;
  options.context(session.context);
  options.use_global_arguments(false);
  options.enable_rosout(false);
  return std::make_shared<rclcpp::node_interfaces::NodeBase>(
      "rmwbench_session", "", session.context, *options.get_rcl_node_options(), false, false);
}

rmwbench_session *open(const Settings &settings, rmwbench_error *error) {
  return guarded(error, "session", [&] {
    auto session = std::make_unique<rmwbench_session>(settings);
    if (settings.rmw != "rmw_zenoh_cpp") keeper = keep_participant(*session);
    return session.release();
  });
}

void session_close(rmwbench_session *session) {
  keeper.reset();
  delete session;
}

rmwbench_node *node_create(rmwbench_session *session, const char *name, rmwbench_error *error) {
  return guarded(error, "node", [&] { return new rmwbench_node(*session, name); });
}

rmwbench_node &with_endpoints(rmwbench_node *node) {
  if (node->kind != NodeKind::lifecycle) return *node;
  throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "node " + node->name,
              "a lifecycle node of this worker has no endpoints but its own services"};
}

const TypeMaker &maker_for(const rmwbench_node &node, const rmwbench_endpoint_config &config) {
  return through_image_transport(node, config) ? image_maker() : maker_of(config);
}

rmwbench_publisher *publisher_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                     rmwbench_error *error) {
  return guarded(error, "publisher", [&] {
    return maker_for(*node, *config).publisher(with_endpoints(node), *config);
  });
}

uint8_t *publisher_message(rmwbench_publisher *publisher, size_t bytes) {
  try {
    return publisher->message(bytes);
  } catch (...) {  // no memory: `publish` then fails and reports it
    return nullptr;
  }
}

rmwbench_subscription *subscription_create(rmwbench_node *node,
                                           const rmwbench_endpoint_config *config,
                                           const rmwbench_sink *sink, rmwbench_error *error) {
  return guarded(error, "subscription", [&] {
    return maker_for(*node, *config).subscription(with_endpoints(node), *config, *sink);
  });
}

rmwbench_client *client_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                               const rmwbench_sink *sink, rmwbench_error *error) {
  const auto make =
      node->session.settings.calls == Calls::action ? make_action_client : make_client;
  return guarded(error, "client", [&] { return make(with_endpoints(node), *config, *sink); });
}

uint8_t *client_message(rmwbench_client *client, size_t bytes) {
  try {
    return client->message(bytes);
  } catch (...) {  // no memory: `request` then fails and reports it
    return nullptr;
  }
}

rmwbench_service *service_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                 const rmwbench_handler *handler, rmwbench_error *error) {
  const auto make =
      node->session.settings.calls == Calls::action ? make_action_server : make_service;
  return guarded(error, "service", [&] { return make(with_endpoints(node), *config, *handler); });
}

// The program has describe and session_open, which calls open(), and the functions for profiles and
// daemons.
rmwbench_middleware filled() {
  rmwbench_middleware table = table_of_objects();
  table.session_close = session_close;
  table.node_create = node_create;
  table.publisher_create = publisher_create;
  table.publisher_message = publisher_message;
  table.subscription_create = subscription_create;
  table.client_create = client_create;
  table.client_message = client_message;
  table.service_create = service_create;
  table.reply_message = reply_message;
  return table;
}

const rmwbench_middleware table = filled();

}  // namespace

extern "C" __attribute__((visibility("default")))
const WorkerLibrary rmwbench_rclcpp_worker = {open, &table, took_profiles, print_graph};
