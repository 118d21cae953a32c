#include "rmw_modes.hpp"

#include <cstdlib>
#include <regex>

#include <rmwbench_fault.hpp>

#include "ament.hpp"
#include "hosts.hpp"
#include "settings.hpp"
#include "shared_host.hpp"
#include "zenoh_discovery.hpp"
#include "zenoh_security.hpp"

namespace rmwbench {

const std::string &level(const std::map<std::string, std::string> &modes, const char *name) {
  static const std::string none;
  const auto found = modes.find(name);
  return found == modes.end() ? none : found->second;
}

namespace {

[[noreturn]] void cannot(const char *mode, const std::string &words) {
  throw Fault{RMWBENCH_ERROR_UNSUPPORTED, std::string("mode ") + mode, words};
}

void discovery_of_dds(const std::string &asked, Pairs &environment) {
  if (asked == "multicast" || asked == "spdp") {
    environment.emplace_back("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET");
  } else if (asked == "peers") {
    if (ament::version_of("rmw").compare(0, 2, "6.") == 0)
      cannot("discovery", "peers: this distribution has no ROS_STATIC_PEERS (it came with Iron)");
    // The processes of one host find each other by its address, the other hosts are listed; no
    // process announces itself by multicast.
    environment.emplace_back("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    std::string others;
    for (const auto &address : hosts_of_the_trial().others())
      others += (others.empty() ? "" : ";") + address;
    if (!others.empty()) environment.emplace_back("ROS_STATIC_PEERS", others);
  }
}

Pairs of_cyclonedds(const std::map<std::string, std::string> &modes,
                    const std::string &profile_text) {
  Pairs environment;
  // Cyclone merges the configurations of a list; later ones override earlier ones.
  std::string own;
  const auto domain = [&](const std::string &settings) { own += "," + any_domain(settings); };
  const std::string &transport = level(modes, "transport");
  if (transport == "shm" && iceoryx_on().empty())
    cannot("transport", "shm: this install of Cyclone DDS has no iceoryx");
  if (transport == "udp" && !iceoryx_on().empty() &&
      profile_text.find(iceoryx_on()) != std::string::npos)
    cannot("transport", "udp: the profile switches shared memory on");
  if (transport == "shm")
    domain(iceoryx_on());
  else if (!transport.empty() && transport != "udp" && transport != "intra_process")
    cannot("transport", transport + ": rmw_cyclonedds_cpp sends by UDP or through iceoryx");
  if (!shared_host().empty())
    domain(
        "<General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces>"
        "</General>");
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
    // Discovery uses UDP and data use TCP; within a host data use shared memory.
    const char *asked = transport == "udp"   ? "UDPv4"
                        : transport == "tcp" ? "LARGE_DATA"
                        : transport == "shm" ? "SHM"
                                             : nullptr;
    if (asked == nullptr)
      cannot("transport", transport +
                              ": FASTDDS_BUILTIN_TRANSPORTS has udp, tcp and shm; others take a "
                              "profile file");
    if (transport != "shm" && profile_text.find("<data_sharing>") != std::string::npos)
      cannot("transport", transport + ": the profile shares histories, which no transport passes");
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
  // The profile set the variable, before these modes.
  if (!discovery.empty() && discovery != "server" && std::getenv("ROS_DISCOVERY_SERVER") != nullptr)
    cannot("discovery", discovery + ": the profile has a discovery server");
  if (discovery == "server") environment.emplace_back("ROS_DISCOVERY_SERVER", discovery_server());
  if (discovery == "routers" || discovery == "client")
    cannot("discovery", discovery + ": Fast DDS has a discovery server, no routers");
  if (discovery == "spdp") cannot("discovery", "spdp: Fast DDS has no setting for that");
  if (discovery == "peers" && !shared_host().empty())
    cannot("discovery",
           "peers: rmw_fastrtps then listens on every interface, and this host shares them");
  discovery_of_dds(discovery, environment);
  return environment;
}

uint64_t zenoh_pool_bytes(const std::map<std::string, std::string> &modes,
                          const std::string &profile_text) {
  static const std::regex enabled(R"(shared_memory"?\s*:\s*\{\s*"?enabled"?\s*:\s*true)"),
      size(R"(pool_size"?\s*:\s*([0-9]+))"),
      off(R"(transport_optimization"?\s*:\s*\{\s*"?enabled"?\s*:\s*false)");
  const std::string &transport = level(modes, "transport");
  if (level(modes, "security") == "true") return 0;
  if (transport != "shm" && (!transport.empty() || !std::regex_search(profile_text, enabled)))
    return 0;
  if (std::regex_search(profile_text, off)) return 0;
  if (const std::string &bytes = level(modes, "shm_pool_bytes"); !bytes.empty())
    return std::stoull(bytes);
  std::smatch found;
  return std::regex_search(profile_text, found, size) ? std::stoull(found[1])
                                                      : AS_INSTALLED_POOL_BYTES;
}

// Secures the nodes as a user would secure every node of a host: SROS 2 enforced, and one enclave
// for all.
void sros2(const std::string &keystore, Pairs &environment) {
  if (keystore.empty()) return;
  environment.emplace_back("ROS_SECURITY_ENABLE", "true");
  environment.emplace_back("ROS_SECURITY_STRATEGY", "Enforce");
  environment.emplace_back("ROS_SECURITY_KEYSTORE", keystore);
  environment.emplace_back("ROS_SECURITY_ENCLAVE_OVERRIDE", "/rmwbench");
}

Pairs of_zenoh(const std::map<std::string, std::string> &modes, const std::string &profile_text,
               const std::string &daemon, const std::string &keystore) {
  std::string override;
  const auto add = [&](const std::string &pair) {
    override += (override.empty() ? "" : ";") + pair;
  };
  Pairs environment;
  const std::string &transport = level(modes, "transport");
  if (transport == "shm" && !keystore.empty())
    cannot("security", "true: what goes through shared memory is not encrypted");
  if (transport == "shm") {
    add("transport/shared_memory/enabled=true");
    // The further setting that Zenoh needs, besides the pool, which is made at the first message
    // all the same (worker/pool.hpp).
    add("transport/shared_memory/mode=\"init\"");
  } else if (transport == "tcp") {
    add("transport/shared_memory/enabled=false");
  } else if (!transport.empty() && transport != "intra_process") {
    cannot("transport", transport +
                            ": sessions and router of rmw_zenoh_cpp meet by TCP; another link "
                            "takes a profile file for both");
  }
  const std::string &discovery = level(modes, "discovery");
  Pairs found = daemon.empty() ? session_discovery(discovery) : router_discovery(daemon);
  if (!keystore.empty()) found = zenoh_security(keystore, std::move(found), !daemon.empty());
  for (const auto &[key, value] : found) add(key + "=" + value);
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
  // This applies to routers, too, since both ends of a link must request compression.
  if (const std::string &compression = level(modes, "compression"); !compression.empty()) {
    add("transport/unicast/compression/enabled=" + compression);
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

uint64_t pool_bytes(const Rmw &rmw, const std::map<std::string, std::string> &modes,
                    const std::string &profile_text) {
  return rmw.name == "rmw_zenoh_cpp" ? zenoh_pool_bytes(modes, profile_text) : 0;
}

Pairs environment_of_modes(const Rmw &rmw, const std::map<std::string, std::string> &modes,
                           const std::string &profile_text, const std::string &daemon,
                           const std::string &keystore) {
  if (rmw.name == "rmw_zenoh_cpp") return of_zenoh(modes, profile_text, daemon, keystore);
  Pairs environment;
  if (rmw.name == "rmw_cyclonedds_cpp") environment = of_cyclonedds(modes, profile_text);
  if (is_fastrtps(rmw.name)) environment = of_fastrtps(modes, profile_text);
  sros2(keystore, environment);
  return environment;
}

}  // namespace rmwbench
