// The table that the harness calls: what needs no rclcpp is here, the rest is handed to the worker
// library.

#include "table.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <rmwbench_fault.hpp>

#include "daemon.hpp"
#include "description.hpp"
#include "environment.hpp"
#include "options.hpp"
#include "rmw_modes.hpp"
#include "worker_library.hpp"

namespace rmwbench {
namespace {

// A process has one session at a time; the harness says so.
const rmwbench_middleware *library = nullptr;
std::unique_ptr<Environment> environment;

const rmwbench_description *describe() { return &description(); }

rmwbench_session *session_open(const rmwbench_session_config *config, rmwbench_error *error) {
  return guarded(error, "session", [&]() -> rmwbench_session * {
    Asked asked = asked_of(*config);
    asked.settings.rmw = current_rmw().name;
    asked.settings.pool_bytes = pool_bytes(current_rmw(), asked.modes, config->profile.text);
    environment.reset();  // of a session that was refused: its file has the name of this one's
    environment = std::make_unique<Environment>(current_rmw(), config->profile, asked, "");
    const WorkerLibrary &loaded = load_worker_library(asked.settings.layers);
    library = loaded.table;
    rmwbench_session *session = loaded.open(asked.settings, error);
    const std::string &path = environment->path();
    if (session == nullptr || path.empty()) return session;
    const char *wrong = nullptr;
    if (!environment->was_read())
      wrong = " did not open";
    else if (!loaded.took_profiles(current_rmw().name, path))
      wrong = " says in its log why it took nothing of";
    if (wrong == nullptr) return session;
    library->session_close(session);
    throw Fault{RMWBENCH_ERROR_FAILED, std::string("profile ") + config->profile.name,
                current_rmw().name + wrong + " the file that " + current_rmw().variable +
                    " names: the profile is not in force"};
  });
}

void session_close(rmwbench_session *session) {
  library->session_close(session);
  environment.reset();
}

void session_configuration(rmwbench_session *, const rmwbench_configuration *configuration) {
  configuration->tell(configuration->context, "text", environment->text().c_str());
}

rmwbench_node *node_create(rmwbench_session *session, const char *name, rmwbench_error *error) {
  return library->node_create(session, name, error);
}

void node_destroy(rmwbench_node *node) { library->node_destroy(node); }

rmwbench_publisher *publisher_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                     rmwbench_error *error) {
  return library->publisher_create(node, config, error);
}
void publisher_destroy(rmwbench_publisher *publisher) { library->publisher_destroy(publisher); }
rmwbench_status publish(rmwbench_publisher *publisher, const uint8_t *payload, size_t bytes) {
  return library->publish(publisher, payload, bytes);
}
rmwbench_status loan(rmwbench_publisher *publisher, size_t bytes, uint8_t **memory) {
  return library->loan(publisher, bytes, memory);
}
rmwbench_status commit(rmwbench_publisher *publisher, uint8_t *memory, size_t bytes) {
  return library->commit(publisher, memory, bytes);
}
uint8_t *publisher_message(rmwbench_publisher *publisher, size_t bytes) {
  return library->publisher_message(publisher, bytes);
}
uint32_t publisher_matched(rmwbench_publisher *publisher) {
  return library->publisher_matched(publisher);
}
void publisher_granted(rmwbench_publisher *publisher, rmwbench_granted *granted) {
  library->publisher_granted(publisher, granted);
}
void publisher_account(rmwbench_publisher *publisher, const rmwbench_account *account) {
  library->publisher_account(publisher, account);
}

rmwbench_subscription *subscription_create(rmwbench_node *node,
                                           const rmwbench_endpoint_config *config,
                                           const rmwbench_sink *sink, rmwbench_error *error) {
  return library->subscription_create(node, config, sink, error);
}
void subscription_destroy(rmwbench_subscription *subscription) {
  library->subscription_destroy(subscription);
}
uint32_t subscription_matched(rmwbench_subscription *subscription) {
  return library->subscription_matched(subscription);
}
void subscription_granted(rmwbench_subscription *subscription, rmwbench_granted *granted) {
  library->subscription_granted(subscription, granted);
}
void subscription_account(rmwbench_subscription *subscription, const rmwbench_account *account) {
  library->subscription_account(subscription, account);
}

rmwbench_client *client_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                               const rmwbench_sink *sink, rmwbench_error *error) {
  return library->client_create(node, config, sink, error);
}
void client_destroy(rmwbench_client *client) { library->client_destroy(client); }
rmwbench_status client_request(rmwbench_client *client, const uint8_t *payload, size_t bytes) {
  return library->client_request(client, payload, bytes);
}
uint8_t *client_message(rmwbench_client *client, size_t bytes) {
  return library->client_message(client, bytes);
}
uint32_t client_matched(rmwbench_client *client) { return library->client_matched(client); }
void client_granted(rmwbench_client *client, rmwbench_granted *granted) {
  library->client_granted(client, granted);
}
void client_account(rmwbench_client *client, const rmwbench_account *account) {
  library->client_account(client, account);
}

rmwbench_service *service_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                 const rmwbench_handler *handler, rmwbench_error *error) {
  return library->service_create(node, config, handler, error);
}
void service_destroy(rmwbench_service *service) { library->service_destroy(service); }
uint32_t service_matched(rmwbench_service *service) { return library->service_matched(service); }
void service_granted(rmwbench_service *service, rmwbench_granted *granted) {
  library->service_granted(service, granted);
}
void service_account(rmwbench_service *service, const rmwbench_account *account) {
  library->service_account(service, account);
}

uint8_t *reply_message(void *context, size_t bytes) {
  return library->reply_message(context, bytes);
}

// As the table hands names out: ended by NULL. The texts stay the RMW's, which lives as long as the
// process.
std::vector<const char *> ended(const std::vector<std::string> &names) {
  std::vector<const char *> all;
  for (const auto &name : names) all.push_back(name.c_str());
  all.push_back(nullptr);
  return all;
}

const char *const *profile_daemons(const char *profile) {
  static const auto all = [] {
    std::map<std::string, std::vector<const char *>> lists;
    for (const auto &embedded : current_rmw().profiles)
      lists[embedded.name] = ended(embedded.daemons);
    return lists;
  }();
  const auto found = all.find(profile);
  return found == all.end() ? nullptr : found->second.data();
}

const rmwbench_one_host *profile_one_host(const char *profile) {
  static const auto all = [] {
    std::map<std::string, rmwbench_one_host> reasons;
    for (const auto &embedded : current_rmw().profiles) {
      if (!embedded.one_host.empty()) reasons[embedded.name] = {embedded.one_host.c_str(), nullptr};
    }
    return reasons;
  }();
  const auto found = all.find(profile);
  return found == all.end() ? nullptr : &found->second;
}

const rmwbench_mode_daemons *mode_daemons() {
  static const auto lists = [] {
    std::vector<std::vector<const char *>> all;
    for (const auto &needed : current_rmw().mode_daemons) all.push_back(ended(needed.daemons));
    return all;
  }();
  static const auto entries = [] {
    std::vector<rmwbench_mode_daemons> all;
    for (const auto &needed : current_rmw().mode_daemons) {
      all.push_back({needed.mode.c_str(), needed.level.c_str(), lists[all.size()].data()});
    }
    all.push_back({});
    return all;
  }();
  return entries.data();
}

const char *const *daemons_each_host() {
  static const auto names = ended(current_rmw().daemons_each_host);
  return names.data();
}

rmwbench_daemon *daemon_open(const char *name, const rmwbench_session_config *config,
                             rmwbench_error *error) {
  return guarded(error, "daemon", [&] {
    const Asked asked = asked_of(*config);
    const std::string pools = std::string(name) == ROUDI ? asked.roudi_pools : "";
    return new rmwbench_daemon{{current_rmw(), config->profile, asked, name}, {name, pools}};
  });
}

void daemon_close(rmwbench_daemon *daemon) { delete daemon; }

}  // namespace

const rmwbench_middleware table = {
    RMWBENCH_ABI_VERSION,
    sizeof(rmwbench_middleware),
    describe,
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
    publisher_message,
    profile_one_host,
    nullptr,  // shared_host: ROS 2's ports and discovery reach whoever else is on the machine
    nullptr,  // profile_shared_memory
    mode_daemons,
    daemons_each_host,
    client_message,
    reply_message,
};

}  // namespace rmwbench
