#include "zenoh_discovery.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include <rmwbench_fault.hpp>

#include "hosts.hpp"
#include "shared_host.hpp"

namespace rmwbench {
namespace {

// TCP ports: listen/endpoints in rmw_zenoh_cpp's DEFAULT_RMW_ZENOH_ROUTER_CONFIG.json5; peers
// without a router listen from FIRST_PEER on. The offsets from a shared host's first port are next
// to those of the workers on Zenoh (0) and Fast DDS (20) themselves.
constexpr uint16_t ROUTER = 7447, ROUTER_OFFSET = 0;
constexpr uint16_t FIRST_PEER = 7460, FIRST_PEER_OFFSET = 30;
constexpr unsigned MOST_PEERS = 1000, MOST_PEERS_OF_SHARED_HOST = 70;
constexpr unsigned ANY_PORT = 0;

std::string at(const std::string &address, unsigned port) {
  return "\"tcp/" + address + ":" + std::to_string(port) + "\"";
}

std::string list(const std::vector<std::string> &endpoints) {
  std::string all;
  for (const auto &endpoint : endpoints) all += (all.empty() ? "" : ",") + endpoint;
  return "[" + all + "]";
}

unsigned peer_port(unsigned number) {
  return port_of_trial(FIRST_PEER, FIRST_PEER_OFFSET) + number;
}

// The lowest number that no living session of this host has: a session with the number of a dead
// one has its endpoint, too. The process holds the number as a name in the host's network
// namespace, which disappears with the process and leaves no file. Throws Fault.
unsigned own_number(const std::string &address) {
  const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const unsigned most = shared_host().empty() ? MOST_PEERS : MOST_PEERS_OF_SHARED_HOST;
  for (unsigned number = 0; held >= 0 && number < most; ++number) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text =
        "rmwbench-rmw-zenoh-peer-" + shared_host() + address + "-" + std::to_string(number);
    text.copy(name.sun_path + 1, sizeof name.sun_path - 1);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    if (bind(held, reinterpret_cast<const sockaddr *>(&name), bytes) == 0) return number;
  }
  throw Fault{RMWBENCH_ERROR_FAILED, "mode discovery",
              "peers: no free number below " + std::to_string(most) + " on this host"};
}

// Of two sessions exactly one connects: on one host the one with the higher number, of two hosts
// the one on the host with the higher address. A session that comes back takes its old number, and
// the sessions that had connected to it connect again by themselves.
Pairs peers(const Hosts &hosts) {
  const unsigned own = own_number(hosts.own);
  std::vector<std::string> earlier;
  for (unsigned number = 0; number < own; ++number)
    earlier.push_back(at(hosts.own, peer_port(number)));
  std::vector<std::string> seen;
  for (const auto &address : hosts.peers) {
    unsigned number = 0;
    for (const auto &before : seen) number += before == address ? 1 : 0;
    seen.push_back(address);
    if (lower(address, hosts.own)) earlier.push_back(at(address, peer_port(number)));
  }
  return {
      {"listen/endpoints", list({at(hosts.own, peer_port(own))})},
      {"connect/endpoints", list(earlier)},
      {"connect/retry", "{period_init_ms:10,period_max_ms:100,period_increase_factor:2}"},
      {"scouting/multicast/enabled", "false"},
      {"scouting/gossip/enabled", "false"},
  };
}

const Pairs::value_type ALONE = {"scouting/multicast/enabled", "false"};

// The keys for the trial's own router, with all addresses on the loopback interface, whatever the
// profile says.
Pairs session_on_shared_host(const std::string &discovery) {
  if (discovery == "multicast") {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode discovery",
                "multicast: it would look for others on every interface of this machine"};
  }
  const std::string own = hosts_of_the_trial().own;
  Pairs found = {ALONE, {"connect/endpoints", list({at(own, router_port())})}};
  if (discovery == "client")
    found.emplace_back("mode", "\"client\"");
  else
    found.emplace_back("listen/endpoints", list({at(own, ANY_PORT)}));
  return found;
}

}  // namespace

uint16_t router_port() { return port_of_trial(ROUTER, ROUTER_OFFSET); }

Pairs session_discovery(const std::string &discovery) {
  const Hosts hosts = hosts_of_the_trial();
  // As installed, a session listens on the loopback interface alone, where no other host reaches
  // it.
  const std::pair<std::string, std::string> reachable = {"listen/endpoints",
                                                         list({at(hosts.own, ANY_PORT)})};
  const std::pair<std::string, std::string> central = {"connect/endpoints",
                                                       list({at(hosts.daemon, router_port())})};
  if (discovery == "peers") return peers(hosts);
  if (!shared_host().empty()) return session_on_shared_host(discovery);
  if (discovery == "multicast") {
    Pairs found = {{"scouting/multicast/enabled", "true"}, {"connect/endpoints", "[]"}};
    if (hosts.several()) found.push_back(reachable);
    return found;
  }
  if (discovery == "server" && hosts.several()) return {reachable, central};
  // On the router's own host the sessions are peers, as installed; sessions on other hosts are
  // clients.
  if (discovery == "client" && !(hosts.several() && hosts.own == hosts.daemon))
    return {{"mode", "\"client\""}, central};
  return {};
}

Pairs router_discovery(const std::string &name) {
  if (!shared_host().empty()) {
    const std::string own = hosts_of_the_trial().own;
    return {
        ALONE, {"listen/endpoints", list({at(own, router_port())})}, {"connect/endpoints", "[]"}};
  }
  if (name != HOST_ROUTER) return {};
  const Hosts hosts = hosts_of_the_trial();
  std::vector<std::string> earlier;
  for (const auto &address : hosts.others()) {
    if (lower(address, hosts.own)) earlier.push_back(at(address, router_port()));
  }
  if (earlier.empty()) return {};
  return {{"connect/endpoints", list(earlier)}};
}

bool needs_no_router(const std::string &discovery) {
  return discovery == "peers" || discovery == "multicast";
}

}  // namespace rmwbench
