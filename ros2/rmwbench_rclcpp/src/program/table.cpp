// The table that the harness calls: functions that need no rclcpp are here, the others are those of
// the worker library.

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

// A process has one session at a time; the harness ensures that.
const rmwbench_middleware *library = nullptr;
std::unique_ptr<Environment> environment;

const rmwbench_description *describe() { return &description(); }

rmwbench_session *session_open(const rmwbench_session_config *config, rmwbench_error *error) {
  return guarded(error, "session", [&]() -> rmwbench_session * {
    Asked asked = asked_of(*config);
    asked.settings.rmw = current_rmw().name;
    asked.settings.pool_bytes = pool_bytes(current_rmw(), asked.modes, config->profile.text);
    environment.reset();  // a refused session's file has the same name
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

// Calls a function of the worker library's table, which is loaded before this is called.
template <auto Function>
struct Handed;
template <typename Result, typename... Asked, Result (*rmwbench_middleware::*Function)(Asked...)>
struct Handed<Function> {
  static Result call(Asked... asked) { return (library->*Function)(asked...); }
};

template <auto... Functions>
void hand_on(rmwbench_middleware &table) {
  ((table.*Functions = Handed<Functions>::call), ...);
}

// The form in which the table passes names: ended by NULL. The texts belong to the RMW, which lives
// as long as the process.
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

const rmwbench_shared_host *on_shared_host() {
  const Rmw &rmw = current_rmw();
  static const auto without = borrowed(rmw.not_on_shared_host);
  static const rmwbench_shared_host host_description{rmw.on_shared_host.c_str(), without.data(),
                                                     without.size()};
  return rmw.on_shared_host.empty() ? nullptr : &host_description;
}

const rmwbench_shared_memory *profile_shared_memory(const char *profile) {
  static const auto all = [] {
    std::map<std::string, rmwbench_shared_memory> sizes;
    for (const auto &embedded : current_rmw().profiles) {
      if (embedded.shared_memory_bytes != 0)
        sizes[embedded.name] = {embedded.shared_memory_bytes, embedded.histories ? 1 : 0};
    }
    return sizes;
  }();
  const auto found = all.find(profile);
  return found == all.end() ? nullptr : &found->second;
}

rmwbench_middleware filled() {
  using Table = rmwbench_middleware;
  Table table{};
  table.abi_version = RMWBENCH_ABI_VERSION;
  table.struct_bytes = sizeof table;
  table.describe = describe;
  table.session_open = session_open;
  table.session_close = session_close;
  table.session_configuration = session_configuration;
  table.profile_daemons = profile_daemons;
  table.profile_one_host = profile_one_host;
  table.shared_host = on_shared_host;
  table.profile_shared_memory = profile_shared_memory;
  table.mode_daemons = mode_daemons;
  table.daemons_each_host = daemons_each_host;
  table.daemon_open = daemon_open;
  table.daemon_close = [](rmwbench_daemon *daemon) { delete daemon; };
  hand_on<&Table::node_create, &Table::node_destroy>(table);
  hand_on<&Table::publisher_create, &Table::publisher_destroy, &Table::publish, &Table::loan,
          &Table::commit, &Table::publisher_message, &Table::publisher_matched,
          &Table::publisher_granted, &Table::publisher_account>(table);
  hand_on<&Table::subscription_create, &Table::subscription_destroy, &Table::subscription_matched,
          &Table::subscription_granted, &Table::subscription_account>(table);
  hand_on<&Table::client_create, &Table::client_destroy, &Table::client_request,
          &Table::client_message, &Table::client_matched, &Table::client_granted,
          &Table::client_account>(table);
  hand_on<&Table::service_create, &Table::service_destroy, &Table::service_matched,
          &Table::service_granted, &Table::service_account, &Table::reply_message>(table);
  return table;
}

}  // namespace

const rmwbench_middleware table = filled();

}  // namespace rmwbench
