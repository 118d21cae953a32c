#include "environment.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <rmwbench_fault.hpp>

#include "rmw_modes.hpp"
#include "roudi.hpp"
#include "shared_host.hpp"

namespace rmwbench {
namespace {

// Variables that a user's shell may have set and that a trial must not inherit.
const char *const strays[] = {
    "CYCLONEDDS_URI",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "FASTDDS_BUILTIN_TRANSPORTS",
    "FASTDDS_ENVIRONMENT_FILE",
    "RMW_FASTRTPS_USE_QOS_FROM_XML",
    "RMW_FASTRTPS_PUBLICATION_MODE",
    "ROS_DISCOVERY_SERVER",
    "ROS_SUPER_CLIENT",
    "ZENOH_SESSION_CONFIG_URI",
    "ZENOH_ROUTER_CONFIG_URI",
    "ZENOH_CONFIG_OVERRIDE",
    "ZENOH_ROUTER_CHECK_ATTEMPTS",
    "ZENOH_SHM_ALLOC_SIZE",
    "ZENOH_SHM_MESSAGE_SIZE_THRESHOLD",
    "ROS_LOCALHOST_ONLY",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_STATIC_PEERS",
    "ROS_DOMAIN_ID",
    "ROS_DISABLE_LOANED_MESSAGES",
    "ROS_SECURITY_ENABLE",
    "ROS_SECURITY_KEYSTORE",
    "ROS_SECURITY_STRATEGY",
    "ROS_SECURITY_ENCLAVE_OVERRIDE",
    "ROS_NAMESPACE",
};

bool blank(const std::string &text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

bool has_roudi(const Rmw &rmw) {
  for (const auto &needed : rmw.mode_daemons) {
    for (const auto &name : needed.daemons) {
      if (name == ROUDI) return true;
    }
  }
  return false;
}

// Throws if shared memory was requested where no RouDi runs: unsupported if a mode requests it,
// failed if the profile does.
void needs_roudi(const Rmw &rmw, const rmwbench_profile &profile,
                 const std::map<std::string, std::string> &modes) {
  const auto mode = modes.find("transport");
  const bool here = has_roudi(rmw);
  const bool by_profile = here && std::string(profile.text).find(iceoryx_on()) != std::string::npos;
  const bool by_mode = here && mode != modes.end() && mode->second == "shm";
  if ((!by_profile && !by_mode) || roudi_serves()) return;
  const std::string why =
      "its shared memory needs a RouDi, and no RouDi serves this host: an arm starts one with the "
      "option daemons: roudi";
  if (by_mode) throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode transport", "shm: " + why};
  throw Fault{RMWBENCH_ERROR_FAILED, std::string("profile ") + profile.name, why};
}

// The directory of the trial's keystore.
std::string keystore_of(uint64_t trial_nonce) {
  char directory[1024];
  rmwbench_error error;
  if (!rmwbench_security_keystore(trial_nonce, directory, sizeof directory, &error))
    throw Fault{error.kind, error.object, error.message};
  return directory;
}

}  // namespace

Environment::Environment(const Rmw &rmw, const rmwbench_profile &profile, const Asked &asked,
                         const std::string &daemon) {
  const std::string object = std::string("profile ") + profile.name;
  for (const char *name : strays) unsetenv(name);
  text_ = "RMW_IMPLEMENTATION=" + rmw.name + "\n";
  for (const auto &embedded : rmw.profiles) {
    if (embedded.name != profile.name) continue;
    for (const auto &pair : embedded.environment) set(pair.first, pair.second);
  }
  const bool fast_dds = is_fastrtps(rmw.name);
  std::string content;
  if (!blank(profile.text)) {
    if (rmw.variable.empty()) {
      throw Fault{
          RMWBENCH_ERROR_UNSUPPORTED, object,
          rmw.name + " is configured in a way that this worker does not know; only untouched runs"};
    }
    if (profile.format != rmw.format) {
      throw Fault{RMWBENCH_ERROR_INVALID, object,
                  rmw.name + " reads " + rmw.format + ", found " + profile.format};
    }
    content = profile.text;
  }
  if (!shared_host().empty() && fast_dds)
    content = fastdds_on_loopback(content, level(asked.modes, "transport"));
  if (!shared_host().empty() && rmw.name == "rmw_cyclonedds_cpp")
    content = cyclonedds_without_interfaces(content);
  // The router has a file of its own kind: a session's file would make it a peer.
  if (daemon.empty() && !content.empty()) write_file(rmw, object, content);
  const std::string keystore = asked.secured ? keystore_of(asked.trial_nonce) : "";
  for (const auto &[name, value] :
       environment_of_modes(rmw, asked.modes, profile.text, daemon, keystore)) {
    if (name[0] != '+') {
      set(name, value);
      continue;
    }
    const char *before = std::getenv(name.c_str() + 1);
    set(name.substr(1), before != nullptr ? before + value : value.substr(1));
  }
  // Fast DDS reads it when a context makes its participant: it holds for all publishers of the
  // process.
  if (fast_dds && asked.settings.publish_mode != RMWBENCH_PUBLISH_DEFAULT) {
    const bool async = asked.settings.publish_mode == RMWBENCH_PUBLISH_ASYNC;
    set("RMW_FASTRTPS_PUBLICATION_MODE", async ? "ASYNCHRONOUS" : "SYNCHRONOUS");
  }
  if (asked.qos_from_xml) {
    if (!fast_dds) {
      throw Fault{RMWBENCH_ERROR_INVALID, "option qos_from_xml",
                  "only rmw_fastrtps has RMW_FASTRTPS_USE_QOS_FROM_XML"};
    }
    set("RMW_FASTRTPS_USE_QOS_FROM_XML", "1");
  }
  if (!asked.roudi_pools.empty() && !has_roudi(rmw)) {
    throw Fault{RMWBENCH_ERROR_INVALID, "option roudi_pools",
                rmw.name +
                    " has no RouDi here: rmw_cyclonedds_cpp has, where the install has "
                    "iceoryx"};
  }
  if (daemon.empty()) needs_roudi(rmw, profile, asked.modes);
  // By default, Humble takes loans and its successors do not.
  if (asked.settings.loaned_take)
    set("ROS_DISABLE_LOANED_MESSAGES", *asked.settings.loaned_take ? "0" : "1");
  for (const auto &[name, value] : asked.ros_variables) {
    if (asked.secured && name.rfind("ROS_SECURITY_", 0) == 0) {
      throw Fault{RMWBENCH_ERROR_INVALID, "option ros_variables",
                  name + " beside security: true: it would change what is measured as secured"};
    }
    set(name, value);
  }
  // rcl's log files belong to the trial, not into a home directory.
  setenv("ROS_LOG_DIR", (directory_of_trial() + "/rmwbench-ros-log").c_str(), 1);
  if (!path_.empty()) text_ += "\n--- " + path_ + " ---\n" + content;
}

Environment::~Environment() {
  if (watch_ >= 0) close(watch_);
  if (!path_.empty()) unlink(path_.c_str());
}

void Environment::set(const std::string &name, const std::string &value) {
  setenv(name.c_str(), value.c_str(), 1);
  text_ += name + "=" + value + "\n";
}

void Environment::write_file(const Rmw &rmw, const std::string &object,
                             const std::string &content) {
  path_ = directory_of_trial() + "/rmwbench-" + rmw.name + "-" + std::to_string(getpid()) + "." +
          rmw.format;
  std::ofstream file(path_);
  file << content;
  file.close();
  watch_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (!file || watch_ < 0 || inotify_add_watch(watch_, path_.c_str(), IN_OPEN | IN_ACCESS) < 0) {
    throw Fault{RMWBENCH_ERROR_FAILED, object, "cannot write " + path_};
  }
  set(rmw.variable, rmw.variable_prefix + path_);
}

bool Environment::was_read() {
  if (watch_ < 0) return true;
  alignas(inotify_event) char events[4096];
  while (read(watch_, events, sizeof events) > 0) read_ = true;
  return read_;
}

}  // namespace rmwbench
