// The table that the harness calls. Everything is behind these one-line functions.

#include <rmwbench_worker.h>
#include <rmwbench_fault.hpp>

#include "configuration.hpp"
#include "description.hpp"
#include "reader.hpp"
#include "server.hpp"
#include "service.hpp"
#include "session.hpp"
#include "writer.hpp"

namespace {

rmwbench_session *session_open(const rmwbench_session_config *config, rmwbench_error *error) {
  return rmwbench::guarded(error, [&] {
    rmwbench::Asked asked(config->modes, config->mode_count, config->options, config->option_count);
    return new rmwbench_session(config->profile, std::move(asked), config->domain_id);
  });
}

void session_close(rmwbench_session *session) { delete session; }

rmwbench_node *node_create(rmwbench_session *session, const char *, rmwbench_error *error) {
  return rmwbench::guarded(error, [&] { return new rmwbench_node{*session}; });
}

void node_destroy(rmwbench_node *node) { delete node; }

rmwbench_publisher *publisher_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                     rmwbench_error *error) {
  return rmwbench::guarded(error, [&] { return new rmwbench_publisher(node->session, *config); });
}

void publisher_destroy(rmwbench_publisher *publisher) { delete publisher; }

rmwbench_status publish(rmwbench_publisher *publisher, const uint8_t *payload, size_t bytes) {
  return rmwbench::sent([&] { return publisher->publish(payload, bytes); });
}

rmwbench_status loan(rmwbench_publisher *publisher, size_t bytes, uint8_t **memory) {
  return rmwbench::sent([&] { return publisher->loan(bytes, memory); });
}

rmwbench_status commit(rmwbench_publisher *publisher, uint8_t *memory, size_t) {
  return rmwbench::sent([&] { return publisher->commit(memory); });
}

uint32_t publisher_matched(rmwbench_publisher *publisher) {
  return rmwbench::told([&] { return publisher->matched(); });
}

void publisher_granted(rmwbench_publisher *publisher, rmwbench_granted *granted) {
  rmwbench::told([&] { publisher->granted(*granted); });
}

void publisher_account(rmwbench_publisher *publisher, const rmwbench_account *account) {
  rmwbench::told([&] { publisher->account(*account); });
}

rmwbench_subscription *subscription_create(rmwbench_node *node,
                                           const rmwbench_endpoint_config *config,
                                           const rmwbench_sink *sink, rmwbench_error *error) {
  return rmwbench::guarded(
      error, [&] { return new rmwbench_subscription(node->session, *config, *sink); });
}

void subscription_destroy(rmwbench_subscription *subscription) { delete subscription; }

uint32_t subscription_matched(rmwbench_subscription *subscription) {
  return rmwbench::told([&] { return subscription->matched(); });
}

void subscription_granted(rmwbench_subscription *subscription, rmwbench_granted *granted) {
  rmwbench::told([&] { subscription->granted(*granted); });
}

void subscription_account(rmwbench_subscription *subscription, const rmwbench_account *account) {
  rmwbench::told([&] { subscription->account(*account); });
}

rmwbench_client *client_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                               const rmwbench_sink *sink, rmwbench_error *error) {
  return rmwbench::guarded(error,
                           [&] { return new rmwbench_client(node->session, *config, *sink); });
}

void client_destroy(rmwbench_client *client) { delete client; }

rmwbench_status client_request(rmwbench_client *client, const uint8_t *payload, size_t bytes) {
  return rmwbench::sent([&] { return client->publish(payload, bytes); });
}

uint32_t client_matched(rmwbench_client *client) {
  return rmwbench::told([&] { return client->matched(); });
}

void client_granted(rmwbench_client *client, rmwbench_granted *granted) {
  rmwbench::told([&] { client->granted(*granted); });
}

void client_account(rmwbench_client *client, const rmwbench_account *account) {
  rmwbench::told([&] { client->account(*account); });
}

rmwbench_service *service_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                 const rmwbench_handler *handler, rmwbench_error *error) {
  return rmwbench::guarded(error,
                           [&] { return new rmwbench_service(node->session, *config, *handler); });
}

void service_destroy(rmwbench_service *service) { delete service; }

uint32_t service_matched(rmwbench_service *service) {
  return rmwbench::told([&] { return service->matched(); });
}

void service_granted(rmwbench_service *service, rmwbench_granted *granted) {
  rmwbench::told([&] { service->granted(*granted); });
}

void service_account(rmwbench_service *service, const rmwbench_account *account) {
  rmwbench::told([&] { service->account(*account); });
}

void session_configuration(rmwbench_session *session, const rmwbench_configuration *configuration) {
  rmwbench::told([&] {
    configuration->tell(configuration->context, "xml", rmwbench::configuration(*session).c_str());
  });
}

const char *const *profile_daemons(const char *) {
  static const char *const none[] = {nullptr};  // the Rust side has the profiles, and says it
  return none;
}

rmwbench_daemon *daemon_open(const char *name, const rmwbench_session_config *config,
                             rmwbench_error *error) {
  return rmwbench::guarded(error, [&] { return new rmwbench_daemon(name, *config); });
}

void daemon_close(rmwbench_daemon *daemon) { delete daemon; }

}  // namespace

extern "C" const rmwbench_middleware rmwbench_fastdds_middleware = {
    RMWBENCH_ABI_VERSION,
    sizeof(rmwbench_middleware),
    rmwbench::description,
    session_open,
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
    session_configuration,
    nullptr,  // nothing is forced on a profile
    profile_daemons,
    daemon_open,
    daemon_close,
    nullptr,  // publisher_message: what is published is serialised from any memory
    nullptr,  // profile_one_host, shared_host, profile_shared_memory, mode_daemons,
              // daemons_each_host: the Rust side has the profiles
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,  // client_message, reply_message: as publisher_message
    nullptr,
};

// The sizes of the header's structs as this compiler sees them: the Rust side's test compares them
// with its own.
extern "C" const size_t rmwbench_fastdds_struct_bytes[] = {
    sizeof(rmwbench_error),          sizeof(rmwbench_pair),
    sizeof(rmwbench_profile),        sizeof(rmwbench_description),
    sizeof(rmwbench_session_config), sizeof(rmwbench_qos),
    sizeof(rmwbench_message_type),   sizeof(rmwbench_endpoint_config),
    sizeof(rmwbench_delivery),       sizeof(rmwbench_sink),
    sizeof(rmwbench_granted),        sizeof(rmwbench_account),
    sizeof(rmwbench_source),         sizeof(rmwbench_wait_set),
};
