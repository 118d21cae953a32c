// The table's middle: everything that needs rclcpp. The program has the rest (src/program).

#include <rclcpp/node_interfaces/node_base.hpp>

#include <rmwbench_fault.hpp>

#include "action.hpp"
#include "endpoints.hpp"
#include "fastrtps.hpp"
#include "images.hpp"
#include "registry.hpp"
#include "requests.hpp"
#include "service.hpp"
#include "settings.hpp"

using namespace rmwbench;

namespace {

// The RMWs of DDS make their participant with a context's first node, and it goes with the last.
// This node is there as long as the session, so that a session is a participant, as it is for the
// middlewares' own workers. It is the base of a node alone: each `rclcpp::Node` has a reader of
// /parameter_events and, since Jazzy, a service that describes types, whatever its options say.
// rmw_zenoh opens its session with the context and needs none. A process has one session.
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

void node_destroy(rmwbench_node *node) { delete node; }

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

void publisher_destroy(rmwbench_publisher *publisher) { delete publisher; }

rmwbench_status publish(rmwbench_publisher *publisher, const uint8_t *payload, size_t bytes) {
  return sent([&] { return publisher->publish(payload, bytes); });
}

rmwbench_status loan(rmwbench_publisher *publisher, size_t bytes, uint8_t **memory) {
  return sent([&] { return publisher->loan(bytes, memory); });
}

rmwbench_status commit(rmwbench_publisher *publisher, uint8_t *memory, size_t bytes) {
  return sent([&] { return publisher->commit(memory, bytes); });
}

uint8_t *publisher_message(rmwbench_publisher *publisher, size_t bytes) {
  try {
    return publisher->message(bytes);
  } catch (...) {  // no memory: `publish` says what it comes to
    return nullptr;
  }
}

uint32_t publisher_matched(rmwbench_publisher *publisher) {
  return told([&] { return publisher->matched(); });
}

void publisher_granted(rmwbench_publisher *publisher, rmwbench_granted *granted) {
  told([&] { publisher->granted(*granted); });
}

void publisher_account(rmwbench_publisher *publisher, const rmwbench_account *account) {
  told([&] { publisher->account(*account); });
}

rmwbench_subscription *subscription_create(rmwbench_node *node,
                                           const rmwbench_endpoint_config *config,
                                           const rmwbench_sink *sink, rmwbench_error *error) {
  return guarded(error, "subscription", [&] {
    return maker_for(*node, *config).subscription(with_endpoints(node), *config, *sink);
  });
}

void subscription_destroy(rmwbench_subscription *subscription) { delete subscription; }

uint32_t subscription_matched(rmwbench_subscription *subscription) {
  return told([&] { return subscription->matched(); });
}

void subscription_granted(rmwbench_subscription *subscription, rmwbench_granted *granted) {
  told([&] { subscription->granted(*granted); });
}

void subscription_account(rmwbench_subscription *subscription, const rmwbench_account *account) {
  told([&] { subscription->account(*account); });
}

rmwbench_client *client_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                               const rmwbench_sink *sink, rmwbench_error *error) {
  const auto make =
      node->session.settings.calls == Calls::action ? make_action_client : make_client;
  return guarded(error, "client", [&] { return make(with_endpoints(node), *config, *sink); });
}

void client_destroy(rmwbench_client *client) { delete client; }

rmwbench_status client_request(rmwbench_client *client, const uint8_t *payload, size_t bytes) {
  return sent([&] { return client->request(payload, bytes); });
}

uint8_t *client_message(rmwbench_client *client, size_t bytes) {
  try {
    return client->message(bytes);
  } catch (...) {  // no memory: `request` says what it comes to
    return nullptr;
  }
}

uint32_t client_matched(rmwbench_client *client) {
  return told([&] { return client->matched(); });
}

void client_granted(rmwbench_client *client, rmwbench_granted *granted) {
  told([&] { client->granted(*granted); });
}

void client_account(rmwbench_client *client, const rmwbench_account *account) {
  told([&] { client->account(*account); });
}

rmwbench_service *service_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                 const rmwbench_handler *handler, rmwbench_error *error) {
  const auto make =
      node->session.settings.calls == Calls::action ? make_action_server : make_service;
  return guarded(error, "service", [&] { return make(with_endpoints(node), *config, *handler); });
}

void service_destroy(rmwbench_service *service) { delete service; }

uint32_t service_matched(rmwbench_service *service) {
  return told([&] { return service->matched(); });
}

void service_granted(rmwbench_service *service, rmwbench_granted *granted) {
  told([&] { service->granted(*granted); });
}

void service_account(rmwbench_service *, const rmwbench_account *) {
}  // rclcpp counts nothing of a service

const rmwbench_middleware table = {
    RMWBENCH_ABI_VERSION,
    sizeof(rmwbench_middleware),
    nullptr,  // describe: the program's
    nullptr,  // session_open: the program's, which calls open()
    session_close,
    node_create,
    node_destroy,
    publisher_create,
    publisher_destroy,
    publish,
    loan,
    commit,
    publisher_matched,
    publisher_granted,
    publisher_account,
    subscription_create,
    subscription_destroy,
    subscription_matched,
    subscription_granted,
    subscription_account,
    client_create,
    client_destroy,
    client_request,
    client_matched,
    client_granted,
    client_account,
    service_create,
    service_destroy,
    service_matched,
    service_granted,
    service_account,
    nullptr,  // session_configuration to daemon_close: the program's
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    publisher_message,
    nullptr,  // profile_one_host to daemons_each_host: the program's
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    client_message,
    reply_message,
};

}  // namespace

extern "C" __attribute__((visibility("default")))
const WorkerLibrary rmwbench_rclcpp_worker = {open, &table, took_profiles};
