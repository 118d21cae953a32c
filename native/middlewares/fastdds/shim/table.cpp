// The table that the harness calls. All other code is behind these short functions.

#include <rmwbench_worker.h>
#include <rmwbench_fault.hpp>

#include "configuration.hpp"
#include "description.hpp"
#include "reader.hpp"
#include "server.hpp"
#include "service.hpp"
#include "session.hpp"
#include "writer.hpp"

#include <rmwbench_table.hpp>  // after the classes that it calls

namespace {

using rmwbench::guarded;

rmwbench_session *session_open(const rmwbench_session_config *config, rmwbench_error *error) {
  return guarded(error, [&] {
    rmwbench::ArmSettings settings(config->modes, config->mode_count, config->options,
                                   config->option_count);
    return new rmwbench_session(config->profile, std::move(settings), config->domain_id);
  });
}

void session_configuration(rmwbench_session *session, const rmwbench_configuration *configuration) {
  rmwbench::infallible([&] {
    configuration->tell(configuration->context, "xml", rmwbench::configuration(*session).c_str());
  });
}

rmwbench_node *node_create(rmwbench_session *session, const char *, rmwbench_error *error) {
  return guarded(error, [&] { return new rmwbench_node{*session}; });
}

rmwbench_publisher *publisher_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                     rmwbench_error *error) {
  return guarded(error, [&] { return new rmwbench_publisher(node->session, *config); });
}

rmwbench_subscription *subscription_create(rmwbench_node *node,
                                           const rmwbench_endpoint_config *config,
                                           const rmwbench_sink *sink, rmwbench_error *error) {
  return guarded(error, [&] { return new rmwbench_subscription(node->session, *config, *sink); });
}

rmwbench_client *client_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                               const rmwbench_sink *sink, rmwbench_error *error) {
  return guarded(error, [&] { return new rmwbench_client(node->session, *config, *sink); });
}

rmwbench_service *service_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                 const rmwbench_handler *handler, rmwbench_error *error) {
  return guarded(error, [&] { return new rmwbench_service(node->session, *config, *handler); });
}

const char *const *profile_daemons(const char *) {
  static const char *const none[] = {nullptr};  // the Rust side has the profiles, and answers this
  return none;
}

rmwbench_daemon *daemon_open(const char *name, const rmwbench_session_config *config,
                             rmwbench_error *error) {
  return guarded(error, [&] { return new rmwbench_daemon(name, *config); });
}

// The Rust side has the functions for profiles. No endpoint has a message of its own to write into:
// a published message is serialised from any memory.
rmwbench_middleware filled() {
  rmwbench_middleware table = rmwbench::table_of_objects();
  table.describe = rmwbench::description;
  table.session_open = session_open;
  table.session_close = [](rmwbench_session *session) { delete session; };
  table.session_configuration = session_configuration;
  table.node_create = node_create;
  table.publisher_create = publisher_create;
  table.subscription_create = subscription_create;
  table.client_create = client_create;
  table.service_create = service_create;
  table.profile_daemons = profile_daemons;
  table.daemon_open = daemon_open;
  table.daemon_close = [](rmwbench_daemon *daemon) { delete daemon; };
  return table;
}

}  // namespace

extern "C" const rmwbench_middleware rmwbench_fastdds_middleware = filled();

// The sizes of the header's structs in this compiler: the Rust side's test compares them with its
// own.
extern "C" const size_t rmwbench_fastdds_struct_bytes[] = {
    sizeof(rmwbench_error),          sizeof(rmwbench_pair),
    sizeof(rmwbench_profile),        sizeof(rmwbench_description),
    sizeof(rmwbench_session_config), sizeof(rmwbench_qos),
    sizeof(rmwbench_message_type),   sizeof(rmwbench_endpoint_config),
    sizeof(rmwbench_delivery),       sizeof(rmwbench_sink),
    sizeof(rmwbench_granted),        sizeof(rmwbench_account),
    sizeof(rmwbench_source),         sizeof(rmwbench_wait_set),
};
