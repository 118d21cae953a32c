#include "rmw.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "ament.hpp"
#include "executor_classes.hpp"
#include "fault.hpp"
#include "hosts.hpp"
#include "profiles.hpp"
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
// Fast DDS says in its headers whether it was built with DDS-Security; rmw_fastrtps was compiled
// against the same.
#if defined(HAVE_SECURITY) && HAVE_SECURITY
const char fastdds_security[] = "true|false";
#else
const char fastdds_security[] =
    "no: this Fast DDS was built without DDS-Security (HAVE_SECURITY 0)";
#endif
// Cyclone DDS opens them when a participant is secured.
const char *const cyclonedds_plugins[] = {"libdds_security_auth.so", "libdds_security_ac.so",
                                          "libdds_security_crypto.so"};

std::string executors() {
  std::string names = "single_threaded|multi_threaded";
  if (RMWBENCH_HAS_EVENTS_EXECUTOR) names += "|events";
  if (RMWBENCH_HAS_EVENTS_CBG_EXECUTOR) names += "|events_cbg";
  names += "|wait_set";
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
      {"poll", "yes"},
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

// A configuration of Cyclone DDS with these settings in every domain.
std::string any_domain(const std::string &settings) {
  return "<CycloneDDS><Domain Id=\"any\">" + settings + "</Domain></CycloneDDS>";
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
      {"fragment_bytes", "N"},
      {"socket_buffer_bytes", "N"},
      {"batching",
       "no: Cyclone DDS batches on request of the writer only, which rmw_cyclonedds_cpp never "
       "makes"},
      {"compression", "no: Cyclone DDS compresses nothing"},
      {"congestion", congestion_of_dds},
      {"shm_pool_bytes", pools_of_roudi},
      {"shm_layout", pools_of_roudi},
      {"security", cyclonedds_security()},
  });
  rmw.profiles = {
      {"untouched", "", "as installed", {}, {}, ""},
      {"tuned",
       profiles::cyclonedds_tuned,
       "one machine, large messages: loopback, 64 kB fragments, larger buffers",
       {},
       {},
       "it uses loopback alone; take untouched with the modes fragment_bytes and "
       "socket_buffer_bytes, or a file of your own"},
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
  return rmw;
}

// What 3.0 renamed in Fast DDS's XML, as the worker on Fast DDS itself has it
// (native/middlewares/fastdds/src/profiles.rs): of a file with an old name it takes nothing.
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

std::string discovery_server() {
  return hosts_of_the_trial().daemon + ":" + std::to_string(DISCOVERY_SERVER_PORT);
}

Rmw fastrtps(const std::string &name) {
  Rmw rmw;
  rmw.name = name;
  rmw.format = "xml";
  // The library was renamed with 3.0, and the variable with it.
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
      {"fragment_bytes", profile_file_only},
      {"socket_buffer_bytes", profile_file_only},
      {"batching", "no: Fast DDS sends each message by itself"},
      {"compression", "no: Fast DDS compresses nothing"},
      {"congestion", congestion_of_dds},
      {"shm_pool_bytes", profile_file_only},
      {"shm_layout", "no: Fast DDS has one segment for each participant"},
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
  rmw.mode_daemons = {{"discovery", "server", {"discovery_server"}}};
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
      {"shm_layout", "no: rmw_zenoh_cpp has one pool for each session"},
      {"fragment_bytes", "no: Zenoh fragments at the link's batch size, 64 kB"},
      {"socket_buffer_bytes", "N"},
      {"security",
       "no: rmw_zenoh_cpp reads no keystore, but configuration files that zenoh_security_tools "
       "makes of one"},
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
  rmw.daemons_each_host = {HOST_ROUTER};
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

const std::string &level(const std::map<std::string, std::string> &modes, const char *name) {
  static const std::string none;
  const auto found = modes.find(name);
  return found == modes.end() ? none : found->second;
}

[[noreturn]] void cannot(const char *mode, const std::string &words) {
  throw Fault{RMWBENCH_ERROR_UNSUPPORTED, std::string("mode ") + mode, words};
}

void discovery_of_dds(const std::string &asked, Pairs &environment) {
  if (asked == "multicast" || asked == "spdp") {
    environment.emplace_back("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET");
  } else if (asked == "peers") {
    if (ament::version_of("rmw").compare(0, 2, "6.") == 0)
      cannot("discovery", "peers: this distribution has no ROS_STATIC_PEERS (it came with Iron)");
    // The processes of one host know each other by its address, the other hosts are listed; nothing
    // is announced by multicast.
    environment.emplace_back("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    std::string others;
    for (const auto &address : hosts_of_the_trial().others())
      others += (others.empty() ? "" : ";") + address;
    if (!others.empty()) environment.emplace_back("ROS_STATIC_PEERS", others);
  }
}

// Bounds of the mode fragment_bytes, as the worker on Cyclone DDS itself has them
// (native/middlewares/ cyclonedds/src/modes.rs). A fragment goes in one datagram behind the headers
// of RTPS, which 500 bytes hold with much to spare, and UDP over IPv4 carries 65507.
constexpr uint64_t SMALLEST_FRAGMENT_BYTES = 1'024;
constexpr uint64_t LARGEST_FRAGMENT_BYTES = 65'000;
constexpr uint64_t FRAGMENT_HEADERS_BYTES = 500;

Pairs of_cyclonedds(const std::map<std::string, std::string> &modes) {
  Pairs environment;
  // Cyclone merges the configurations of a list, the later ones over the earlier.
  std::string own;
  const auto domain = [&](const std::string &settings) { own += "," + any_domain(settings); };
  const std::string &transport = level(modes, "transport");
  if (transport == "shm" && iceoryx_on().empty())
    cannot("transport", "shm: this install of Cyclone DDS has no iceoryx");
  if (transport == "shm")
    domain(iceoryx_on());
  else if (!transport.empty() && transport != "udp" && transport != "intra_process")
    cannot("transport", transport + ": rmw_cyclonedds_cpp sends by UDP or through iceoryx");
  if (const std::string &bytes = level(modes, "fragment_bytes"); !bytes.empty()) {
    const uint64_t wanted = std::strtoull(bytes.c_str(), nullptr, 10);
    if (wanted < SMALLEST_FRAGMENT_BYTES || wanted > LARGEST_FRAGMENT_BYTES) {
      cannot("fragment_bytes",
             bytes + ": Cyclone DDS takes " + std::to_string(SMALLEST_FRAGMENT_BYTES) + " to " +
                 std::to_string(LARGEST_FRAGMENT_BYTES) + " bytes, what fits a UDP datagram");
    }
    const std::string message = std::to_string(wanted + FRAGMENT_HEADERS_BYTES);
    domain("<General><MaxMessageSize>" + message + "B</MaxMessageSize><FragmentSize>" + bytes +
           "B</FragmentSize></General>");
  }
  if (const std::string &bytes = level(modes, "socket_buffer_bytes"); !bytes.empty()) {
    domain("<Internal><SocketReceiveBufferSize max=\"" + bytes +
           "B\"/><SocketSendBufferSize max=\"" + bytes + "B\"/></Internal>");
  }
  if (level(modes, "discovery") == "spdp")
    domain("<General><AllowMulticast>spdp</AllowMulticast></General>");
  if (!own.empty()) environment.emplace_back("+CYCLONEDDS_URI", own);
  discovery_of_dds(level(modes, "discovery"), environment);
  if (level(modes, "discovery") == "server")
    cannot("discovery", "server: Cyclone DDS has no discovery server");
  if (const std::string &asked = level(modes, "discovery");
      asked == "routers" || asked == "client") {
    cannot("discovery", asked + ": Cyclone DDS has no routers");
  }
  return environment;
}

Pairs of_fastrtps(const std::map<std::string, std::string> &modes,
                  const std::string &profile_text) {
  Pairs environment;
  const std::string &transport = level(modes, "transport");
  if (!transport.empty() && transport != "intra_process") {
    // Discovery over UDP and data over TCP; within a host data take shared memory.
    const char *asked = transport == "udp"   ? "UDPv4"
                        : transport == "tcp" ? "LARGE_DATA"
                        : transport == "shm" ? "SHM"
                                             : nullptr;
    if (asked == nullptr)
      cannot("transport", transport +
                              ": FASTDDS_BUILTIN_TRANSPORTS has udp, tcp and shm; others take a "
                              "profile file");
    if (profile_text.find("useBuiltinTransports") != std::string::npos ||
        profile_text.find("<userTransports") != std::string::npos) {
      cannot("transport", transport +
                              ": the profile brings transports of its own, which Fast DDS takes "
                              "before FASTDDS_BUILTIN_TRANSPORTS");
    }
    // rmw_fastrtps then makes its transports itself, and Fast DDS does not read the variable.
    if (level(modes, "discovery") == "peers")
      cannot("transport", transport +
                              ": with discovery peers rmw_fastrtps takes shared memory and "
                              "UDP, whatever FASTDDS_BUILTIN_TRANSPORTS says");
    environment.emplace_back("FASTDDS_BUILTIN_TRANSPORTS", asked);
  }
  const std::string &discovery = level(modes, "discovery");
  if (discovery == "server") environment.emplace_back("ROS_DISCOVERY_SERVER", discovery_server());
  if (discovery == "routers" || discovery == "client")
    cannot("discovery", discovery + ": Fast DDS has a discovery server, no routers");
  if (discovery == "spdp") cannot("discovery", "spdp: Fast DDS has no setting for that");
  discovery_of_dds(discovery, environment);
  return environment;
}

// transport_optimization.pool_size in rmw_zenoh_cpp's DEFAULT_RMW_ZENOH_SESSION_CONFIG.json5
// (0.2.10).
constexpr uint64_t AS_INSTALLED_POOL_BYTES = 50'331'648;

uint64_t zenoh_pool_bytes(const std::map<std::string, std::string> &modes,
                          const std::string &profile_text) {
  static const std::regex enabled(R"(shared_memory"?\s*:\s*\{\s*"?enabled"?\s*:\s*true)"),
      size(R"(pool_size"?\s*:\s*([0-9]+))"),
      off(R"(transport_optimization"?\s*:\s*\{\s*"?enabled"?\s*:\s*false)");
  const std::string &transport = level(modes, "transport");
  if (transport != "shm" && (!transport.empty() || !std::regex_search(profile_text, enabled)))
    return 0;
  if (std::regex_search(profile_text, off)) return 0;
  if (const std::string &bytes = level(modes, "shm_pool_bytes"); !bytes.empty())
    return std::stoull(bytes);
  std::smatch found;
  return std::regex_search(profile_text, found, size) ? std::stoull(found[1])
                                                      : AS_INSTALLED_POOL_BYTES;
}

Pairs of_zenoh(const std::map<std::string, std::string> &modes, const std::string &profile_text,
               const std::string &daemon) {
  std::string override;
  const auto add = [&](const std::string &pair) {
    override += (override.empty() ? "" : ";") + pair;
  };
  Pairs environment;
  const std::string &transport = level(modes, "transport");
  if (transport == "shm") {
    add("transport/shared_memory/enabled=true");
    // What Zenoh needs besides the pool, which is made at the first message all the same
    // (worker/pool.hpp).
    add("transport/shared_memory/mode=\"init\"");
  } else if (transport == "tcp") {
    add("transport/shared_memory/enabled=false");
  } else if (!transport.empty() && transport != "intra_process") {
    cannot("transport", transport +
                            ": sessions and router of rmw_zenoh_cpp meet by TCP; another link "
                            "takes a profile file for both");
  }
  const std::string &discovery = level(modes, "discovery");
  for (const auto &[key, value] :
       daemon.empty() ? session_discovery(discovery) : router_discovery(daemon))
    add(key + "=" + value);
  if (needs_no_router(discovery)) environment.emplace_back("ZENOH_ROUTER_CHECK_ATTEMPTS", "-1");
  std::string publication;
  if (const std::string &batching = level(modes, "batching"); !batching.empty()) {
    publication += std::string("\"express\":") + (batching == "false" ? "true" : "false");
  }
  if (const std::string &congestion = level(modes, "congestion"); !congestion.empty()) {
    publication += std::string(publication.empty() ? "" : ",") + "\"congestion_control\":\"" +
                   congestion + "\"";
  }
  if (!publication.empty())
    add("qos/publication=[{\"key_exprs\":[\"**\"],\"config\":{" + publication + "}}]");
  // Of routers too, since both ends of a link must ask for it.
  if (const std::string &compression = level(modes, "compression"); !compression.empty()) {
    add("transport/unicast/compression/enabled=" + compression);
  }
  if (const std::string &bytes = level(modes, "socket_buffer_bytes"); !bytes.empty()) {
    add("transport/link/tcp/so_sndbuf=" + bytes);
    add("transport/link/tcp/so_rcvbuf=" + bytes);
  }
  if (!override.empty()) environment.emplace_back("ZENOH_CONFIG_OVERRIDE", override);
  if (const std::string &bytes = level(modes, "shm_pool_bytes"); !bytes.empty()) {
    if (zenoh_pool_bytes(modes, profile_text) == 0) {
      cannot("shm_pool_bytes",
             bytes +
                 ": with this profile and transport rmw_zenoh_cpp makes no pool; ask for "
                 "transport: shm too, and leave transport_optimization enabled");
    }
    environment.emplace_back("ZENOH_SHM_ALLOC_SIZE", bytes);
  }
  return environment;
}

}  // namespace

std::string iceoryx_on() {
  if (!ament::program("bin/iox-roudi")) return "";
  // Until 0.10 a part of Cyclone DDS, since 11 a plugin with another name in its configuration.
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
  if (name.rfind("rmw_fastrtps", 0) == 0) return fastrtps(name);
  if (name == "rmw_zenoh_cpp") return zenoh();
  return unknown(name);
}

uint64_t pool_bytes(const Rmw &rmw, const std::map<std::string, std::string> &modes,
                    const std::string &profile_text) {
  return rmw.name == "rmw_zenoh_cpp" ? zenoh_pool_bytes(modes, profile_text) : 0;
}

Pairs environment_of_modes(const Rmw &rmw, const std::map<std::string, std::string> &modes,
                           const std::string &profile_text, const std::string &daemon) {
  if (rmw.name == "rmw_cyclonedds_cpp") return of_cyclonedds(modes);
  if (rmw.name.rfind("rmw_fastrtps", 0) == 0) return of_fastrtps(modes, profile_text);
  if (rmw.name == "rmw_zenoh_cpp") return of_zenoh(modes, profile_text, daemon);
  return {};
}

}  // namespace rmwbench
