#include "rmw.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include <rmwbench_fault.hpp>

#include "ament.hpp"
#include "executor_classes.hpp"
#include "hosts.hpp"
#include "profiles.hpp"
#include "roudi.hpp"
#include "settings.hpp"
#include "shared_host.hpp"
#include "zenoh_discovery.hpp"

#if __has_include(<fastdds/config.hpp>)
#include <fastdds/config.hpp>
#elif __has_include(<fastrtps/config.h>)
#include <fastrtps/config.h>
#endif

namespace rmwbench {
namespace {

const char no_filter[] = "no: rclcpp filters on typed fields, and the payload is an array of bytes";
const char no_key[] = "no: ROS 2 topics are keyless";
const char evidence[] =
    "partly: rclcpp tells which messages came from its own process, an RMW not how one came from "
    "another";
const char no_zero_copy[] =
    "no: rclcpp takes a copy unless loaned messages are enabled on the subscription, which they "
    "are not by default";
const char congestion_of_dds[] = "no: follows from reliability and history";
const char pools_of_roudi[] =
    "no: RouDi has the pools, and the option roudi_pools sizes them one by one";
const char profile_file_only[] = "no: rmw_fastrtps has no setting for it beyond a profile file";
// Fast DDS's headers state whether it was built with DDS-Security; rmw_fastrtps was compiled
// against the same headers.
#if defined(HAVE_SECURITY) && HAVE_SECURITY
const char fastdds_security[] = "true|false";
#else
const char fastdds_security[] =
    "no: this Fast DDS was built without DDS-Security (HAVE_SECURITY 0)";
#endif
// Cyclone DDS opens these libraries when a participant is secured.
const char *const cyclonedds_plugins[] = {"libdds_security_auth.so", "libdds_security_ac.so",
                                          "libdds_security_crypto.so"};

std::string executors() {
  std::string names = "single_threaded|multi_threaded";
  if (RMWBENCH_HAS_EVENTS_EXECUTOR) names += "|events";
  if (RMWBENCH_HAS_EVENTS_CBG_EXECUTOR) names += "|events_cbg";
  if (RMWBENCH_HAS_STATIC_EXECUTOR) names += "|static";
  return names;
}

Pairs capabilities(Pairs own) {
  const Pairs common = {
      {"reliable", "yes"},
      {"best_effort", "yes"},
      {"keep_last", "yes"},
      {"keep_all", "yes"},
      {"transient_local", "yes"},
      {"block", "yes"},
      {"poll", std::string("no: ") + NO_POLL},
      {"callback", "yes"},
      {"intra_process", "yes"},
      {"inter_process", "yes"},
      {"inter_host", "yes"},
      {"services", "yes"},
      {"content_filter", no_filter},
      {"instance_key", no_key},
      {"evidence", evidence},
  };
  for (const auto &entry : common) {
    const bool has =
        std::any_of(own.begin(), own.end(), [&](const auto &o) { return o.first == entry.first; });
    if (!has) own.push_back(entry);
  }
  return own;
}

Pairs modes(Pairs own) {
  own.emplace_back("executor", executors());
  own.emplace_back("threads", "N");
  return own;
}

// Whether a library was linked with another one: it then has that name among its strings.
bool names(const std::string &library, const std::string &other) {
  std::ifstream file(library, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str().find(other) != std::string::npos;
}

std::string cyclonedds_security() {
  for (const char *plugin : cyclonedds_plugins) {
    if (!ament::library(plugin))
      return std::string("no: this Cyclone DDS was built without DDS-Security, it has no ") +
             plugin;
  }
  return "true|false";
}

Rmw cyclonedds() {
  Rmw rmw;
  rmw.name = "rmw_cyclonedds_cpp";
  rmw.library = "cyclonedds";
  rmw.format = "xml";
  rmw.variable = "CYCLONEDDS_URI";
  rmw.variable_prefix = "file://";
  const bool roudi = !iceoryx_on().empty();
  rmw.capabilities = capabilities({
      {"loan", roudi ? "partly: fixed-size types, with the profile shm"
                     : "no: Cyclone DDS lends shared memory, and this install has no iceoryx"},
      {"zero_copy", no_zero_copy},
      {"publish_sync", "yes"},
      {"publish_async", "no: Cyclone DDS sends in the publishing thread, it has no other way"},
  });
  rmw.modes = modes({
      {"transport", roudi ? "udp|shm|intra_process" : "udp|intra_process"},
      {"discovery", "multicast|spdp|peers"},
      {"batching",
       "no: Cyclone DDS batches on request of the writer only, which rmw_cyclonedds_cpp never "
       "makes"},
      {"compression", "no: Cyclone DDS compresses nothing"},
      {"congestion", congestion_of_dds},
      {"shm_pool_bytes", pools_of_roudi},
      {"security", cyclonedds_security()},
  });
  rmw.profiles = {
      {"untouched", "", "as installed", {}, {}, ""},
      {"tuned",
       profiles::cyclonedds_tuned,
       "one machine, large messages: loopback, 64 kB fragments, larger buffers",
       {},
       {},
       "it uses loopback alone; take untouched, or a file of your own"},
  };
  if (roudi) {
    rmw.profiles.push_back(
        {"shm",
         any_domain(iceoryx_on()) + "\n",
         "as installed, and shared memory by iceoryx between the processes of one host",
         {"roudi"},
         {},
         ""});
    rmw.mode_daemons = {{"transport", "shm", {"roudi"}}};
  }
  rmw.on_shared_host = "General/Interfaces is lo alone, and the domain is the trial's own";
  rmw.not_on_shared_host = {
      {ROUDI, "a machine has only one RouDi name, and a robot's applications would join it"}};
  return rmw;
}

// The elements that 3.0 renamed in Fast DDS's XML, the same as in the worker on Fast DDS itself
// (native/middlewares/fastdds/src/profiles.rs): Fast DDS accepts nothing of a file with an old
// name.
constexpr std::pair<const char *, const char *> renamed[] = {
    {"heartbeatPeriod", "heartbeat_period"},
    {"heartbeatResponseDelay", "heartbeat_response_delay"},
    {"nackResponseDelay", "nack_response_delay"},
};

std::string fastdds_tuned(bool third) {
  std::string text = profiles::fastdds_tuned;
  if (!third) return text;
  for (const auto &[old, now] : renamed) text = std::regex_replace(text, std::regex(old), now);
  return text;
}

// Bytes of /dev/shm: the segments of a process, and its three or four ports, the same as in the
// worker on Fast DDS itself.
constexpr uint64_t INSTALLED_SEGMENT = 512 << 10, TUNED_SEGMENT = 64 << 20, PORTS = 1 << 20;

Rmw fastrtps(const std::string &name) {
  Rmw rmw;
  rmw.name = name;
  rmw.format = "xml";
  // The library was renamed with 3.0, and so was the variable.
  const bool third =
      !ament::version_of("fastdds").empty() || ament::library("libfastdds.so").has_value();
  rmw.library = third ? "fastdds" : "fastrtps";
  rmw.variable = third ? "FASTDDS_DEFAULT_PROFILES_FILE" : "FASTRTPS_DEFAULT_PROFILES_FILE";
  rmw.capabilities = capabilities({
      {"keep_all", "partly: at most resource_limits.max_samples messages (5000 as installed)"},
      {"loan", "partly: types of fixed size"},
      {"zero_copy", no_zero_copy},
      {"publish_sync", "yes"},
      {"publish_async", "yes"},
  });
  // The variable came with Fast DDS 2.13, which ROS 2 has since Jazzy; Humble and Iron have 2.6
  // and 2.10.
  const bool builtin = third || ament::version_of("rmw_fastrtps_cpp").compare(0, 2, "7.") > 0;
  rmw.modes = modes({
      {"transport", builtin ? "udp|tcp|shm|intra_process" : "intra_process"},
      {"discovery", "multicast|peers|server"},
      {"batching", "no: Fast DDS sends each message by itself"},
      {"compression", "no: Fast DDS compresses nothing"},
      {"congestion", congestion_of_dds},
      {"shm_pool_bytes", profile_file_only},
      {"security", fastdds_security},
  });
  rmw.profiles = {
      {"untouched", "", "as installed: shared memory beside UDP", {}, {}, ""},
      {"tuned",
       fastdds_tuned(third),
       "large messages and low latency on one machine: larger segment, faster repair",
       {},
       {},
       ""},
      {"data_sharing",
       profiles::fastdds_data_sharing,
       "readers of one host read in the writer's history: types of fixed size",
       {},
       {{"RMW_FASTRTPS_USE_QOS_FROM_XML", "1"}},
       ""},
      {"discovery_server",
       "",
       "as installed, found through a discovery server instead of multicast",
       {"discovery_server"},
       {{"ROS_DISCOVERY_SERVER", discovery_server()}},
       ""},
  };
  for (auto &profile : rmw.profiles) {
    const bool tuned = profile.name == "tuned";
    profile.shared_memory_bytes = (tuned ? TUNED_SEGMENT : INSTALLED_SEGMENT) + PORTS;
    profile.histories = profile.name == "data_sharing";
  }
  rmw.mode_daemons = {{"discovery", "server", {"discovery_server"}}};
  rmw.on_shared_host =
      "the interface whitelist is 127.0.0.1 alone, and the domain is the trial's own";
  return rmw;
}

Rmw zenoh() {
  Rmw rmw;
  rmw.name = "rmw_zenoh_cpp";
  rmw.library = "zenoh_cpp_vendor";
  rmw.format = "json5";
  rmw.variable = "ZENOH_SESSION_CONFIG_URI";
  rmw.capabilities = capabilities({
      {"reliable",
       "partly: with keep_last a message that finds no room on the link within 1 ms is dropped "
       "silently; keep_all blocks"},
      {"transient_local", "partly: keep_all keeps 42 messages for late joiners"},
      {"loan", "no: rmw_zenoh_cpp lends no memory"},
      {"inter_host",
       "partly: sessions as installed know the router of their own host alone; a trial has one on "
       "each, and those connect"},
      {"zero_copy", "no: rmw_zenoh_cpp deserialises every message into a new one"},
      {"publish_sync", "no: Zenoh's put hands the message to the link's sending task"},
      {"publish_async", "yes"},
  });
  rmw.modes = modes({
      {"transport", "tcp|shm|intra_process"},
      {"discovery", "multicast|peers|server|routers|client"},
      {"batching", "true|false"},
      {"compression", "true|false"},
      {"congestion", "drop|block"},
      {"shm_pool_bytes", "N"},
      {"security", "true|false"},
  });
  rmw.profiles = {
      {"untouched",
       "",
       "as installed: TCP between peers, found through the router rmw_zenohd",
       {HOST_ROUTER},
       {},
       ""},
      {"tuned",
       profiles::zenoh_tuned,
       "as installed, and shared memory for large messages on one machine",
       {HOST_ROUTER},
       {},
       ""},
  };
  rmw.profiles.back().shared_memory_bytes = AS_INSTALLED_POOL_BYTES;
  rmw.daemons_each_host = {HOST_ROUTER};
  rmw.on_shared_host =
      "no multicast, a router of the trial's own, and TCP on 127.0.0.1 at ports of the trial";
  rmw.mode_daemons = {
      {"discovery", "multicast", {}},
      {"discovery", "peers", {}},
      {"discovery", "server", {CENTRAL_ROUTER}},
      {"discovery", "routers", {HOST_ROUTER}},
      {"discovery", "client", {CENTRAL_ROUTER}},
  };
  return rmw;
}

Rmw unknown(const std::string &name) {
  Rmw rmw;
  rmw.name = name;
  rmw.format = "none";
  const std::string reason = "partly: not known to this worker, tried as asked";
  rmw.capabilities = capabilities({{"loan", reason},
                                   {"zero_copy", "no: not known to this worker"},
                                   {"publish_sync", "no: not known to this worker"},
                                   {"publish_async", "no: not known to this worker"}});
  rmw.modes = modes({{"transport", "intra_process"}, {"security", "no: not known to this worker"}});
  rmw.profiles = {{"untouched", "", "as installed", {}, {}, ""}};
  return rmw;
}

}  // namespace

std::string any_domain(const std::string &settings) {
  return "<CycloneDDS><Domain Id=\"any\">" + settings + "</Domain></CycloneDDS>";
}

// DEFAULT_ROS2_SERVER_PORT in its rtps/attributes/ServerAttributes.h. On a shared host the offset
// is the one of the worker on Fast DDS itself.
uint16_t discovery_server_port() { return port_of_trial(11811, 20); }

std::string discovery_server() {
  return hosts_of_the_trial().daemon + ":" + std::to_string(discovery_server_port());
}

std::string iceoryx_on() {
  if (!ament::program("bin/iox-roudi")) return "";
  // Until 0.10 the plugin was a part of Cyclone DDS; since 11 it is separate and has another name
  // in the configuration.
  if (const auto cyclonedds = ament::library("libddsc.so.0"))
    return names(*cyclonedds, "libiceoryx_binding_c.so")
               ? "<SharedMemory><Enable>true</Enable></SharedMemory>"
               : "";
  if (!ament::library("libpsmx_iox.so")) return "";
  return "<General><Interfaces><PubSubMessageExchange type=\"iox\" priority=\"1000000\" "
         "config=\"LOG_LEVEL=WARN;\"/></Interfaces></General>";
}

const Rmw &current_rmw() {
  static const Rmw rmw = [] {
    const char *set = std::getenv("RMW_IMPLEMENTATION");
    const std::string name = set != nullptr ? set : "";
    const auto installed = ament::rmw_implementations();
    if (std::find(installed.begin(), installed.end(), name) == installed.end()) {
      std::string known;
      for (const auto &one : installed) known += (known.empty() ? "" : ", ") + one;
      throw Fault{RMWBENCH_ERROR_INVALID, "RMW_IMPLEMENTATION",
                  known.empty() ? "no RMW found; source a ROS 2 first: . /opt/ros/jazzy/setup.sh"
                                : "expected one of " + known + ", found " +
                                      (name.empty() ? "nothing" : name)};
    }
    return rmw_named(name);
  }();
  return rmw;
}

Rmw rmw_named(const std::string &name) {
  if (name == "rmw_cyclonedds_cpp") return cyclonedds();
  if (is_fastrtps(name)) return fastrtps(name);
  if (name == "rmw_zenoh_cpp") return zenoh();
  return unknown(name);
}

}  // namespace rmwbench
