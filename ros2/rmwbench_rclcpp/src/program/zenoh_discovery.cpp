#include "zenoh_discovery.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include <rmwbench_fault.hpp>

#include "hosts.hpp"

namespace rmwbench {
namespace {

// Ports of TCP: peers without a router listen from FIRST_PEER on.
constexpr unsigned FIRST_PEER = 7460;
constexpr unsigned MOST_PEERS = 1000;
constexpr unsigned ANY_PORT = 0;

std::string at(const std::string &address, unsigned port) {
  return "\"tcp/" + address + ":" + std::to_string(port) + "\"";
}

std::string list(const std::vector<std::string> &endpoints) {
  std::string all;
  for (const auto &endpoint : endpoints) all += (all.empty() ? "" : ",") + endpoint;
  return "[" + all + "]";
}

// The lowest number that no living session of this host has: whoever takes a dead one's place is
// found at its endpoint. What holds it is a name in the host's network namespace, which goes with
// the process and leaves no file. Throws Fault.
unsigned own_number(const std::string &address) {
  const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  for (unsigned number = 0; held >= 0 && number < MOST_PEERS; ++number) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = "rmwbench-rmw-zenoh-peer-" + address + "-" + std::to_string(number);
    text.copy(name.sun_path + 1, sizeof name.sun_path - 1);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    if (bind(held, reinterpret_cast<const sockaddr *>(&name), bytes) == 0) return number;
  }
  throw Fault{RMWBENCH_ERROR_FAILED, "mode discovery",
              "peers: no free number below " + std::to_string(MOST_PEERS) + " on this host"};
}

// Of two sessions exactly one connects: on one host the one with the higher number, of two hosts
// that on the host with the higher address. A session that comes back takes its old number, and
// those that had connected to it connect again by themselves.
Pairs peers(const Hosts &hosts) {
  const unsigned own = own_number(hosts.own);
  std::vector<std::string> earlier;
  for (unsigned number = 0; number < own; ++number)
    earlier.push_back(at(hosts.own, FIRST_PEER + number));
  std::vector<std::string> seen;
  for (const auto &address : hosts.peers) {
    unsigned number = 0;
    for (const auto &before : seen) number += before == address ? 1 : 0;
    seen.push_back(address);
    if (lower(address, hosts.own)) earlier.push_back(at(address, FIRST_PEER + number));
  }
  return {
      {"listen/endpoints", list({at(hosts.own, FIRST_PEER + own)})},
      {"connect/endpoints", list(earlier)},
      {"connect/retry", "{period_init_ms:10,period_max_ms:100,period_increase_factor:2}"},
      {"scouting/multicast/enabled", "false"},
      {"scouting/gossip/enabled", "false"},
  };
}

}  // namespace

Pairs session_discovery(const std::string &discovery) {
  const Hosts hosts = hosts_of_the_trial();
  // As installed a session listens on the loopback alone, where no other host reaches it.
  const std::pair<std::string, std::string> reachable = {"listen/endpoints",
                                                         list({at(hosts.own, ANY_PORT)})};
  const std::pair<std::string, std::string> central = {"connect/endpoints",
                                                       list({at(hosts.daemon, ROUTER_PORT)})};
  if (discovery == "peers") return peers(hosts);
  if (discovery == "multicast") {
    Pairs found = {{"scouting/multicast/enabled", "true"}, {"connect/endpoints", "[]"}};
    if (hosts.several()) found.push_back(reachable);
    return found;
  }
  if (discovery == "server" && hosts.several()) return {reachable, central};
  // On the router's own host the sessions are peers as installed, and clients are who visits.
  if (discovery == "client" && !(hosts.several() && hosts.own == hosts.daemon))
    return {{"mode", "\"client\""}, central};
  return {};
}

Pairs router_discovery(const std::string &name) {
  if (name != HOST_ROUTER) return {};
  const Hosts hosts = hosts_of_the_trial();
  std::vector<std::string> earlier;
  for (const auto &address : hosts.others()) {
    if (lower(address, hosts.own)) earlier.push_back(at(address, ROUTER_PORT));
  }
  if (earlier.empty()) return {};
  return {{"connect/endpoints", list(earlier)}};
}

bool needs_no_router(const std::string &discovery) {
  return discovery == "peers" || discovery == "multicast";
}

}  // namespace rmwbench
