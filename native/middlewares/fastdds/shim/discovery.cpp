#include "discovery.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <rmwbench_fault.hpp>

#include "fastdds_api.hpp"
#if RMWBENCH_FASTDDS_MAJOR >= 3
#include <fastdds/rtps/attributes/RTPSParticipantAttributes.hpp>
#else
#include <fastdds/rtps/attributes/RTPSParticipantAttributes.h>
#include <fastdds/rtps/attributes/ServerAttributes.h>
#endif

namespace rmwbench {
namespace {

using Protocol = rtps::DiscoveryProtocol;

constexpr uint16_t first_port = 11811;  // the same as in ROS 2

// The address that the orchestrator sets if a trial has several hosts; else this host's loopback.
std::string named(const char *variable) {
  const char *text = std::getenv(variable);
  return text && *text ? text : "127.0.0.1";
}

rtps::Locator_t udp_at(const char *address, uint16_t port) {
  rtps::Locator_t locator;
  locator.kind = LOCATOR_KIND_UDPv4;
  rtps::IPLocator::setIPv4(locator, std::string(address));
  locator.port = port;
  return locator;
}

// The identity that ROS 2 gives to its servers: 44.53.NN.5f.45.50.52.4f.53.49.4d.41.
void name_server(uint32_t number, rtps::GuidPrefix_t &prefix) {
  const unsigned char bytes[12] = {
      0x44, 0x53, static_cast<unsigned char>(number), 0x5f, 0x45, 0x50, 0x52, 0x4f, 0x53, 0x49,
      0x4d, 0x41};
  for (int i = 0; i < 12; ++i) prefix.value[i] = bytes[i];
}

bool has_only_shared_memory(const fd::TransportConfigQos &config) {
  if (config.use_builtin_transports) return false;
  for (const auto &each : config.user_transports) {
    if (dynamic_cast<transports::SharedMemTransportDescriptor *>(each.get()) == nullptr)
      return false;
  }
  return true;
}

// Nothing is announced by multicast; participants are searched for at the ports that the first
// `range` participants of a host have.
void by_peers(const ArmSettings &settings, fd::DomainParticipantQos &qos) {
  if (has_only_shared_memory(qos.transport())) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode discovery",
                "peers are addresses, and this arm has only shared memory, which Fast DDS searches "
                "through ports of its own; leave "
                "transport: shm away (as installed it is preferred within a host)"};
  }
  auto &builtin = qos.wire_protocol().builtin;
  builtin.metatrafficMulticastLocatorList.clear();
  builtin.metatrafficUnicastLocatorList.clear();
  builtin.metatrafficUnicastLocatorList.push_back(udp_at("0.0.0.0", 0));
  builtin.initialPeersList.clear();
  std::set<std::string> addresses{named("RMWBENCH_ADDRESS")};
  std::istringstream others(named("RMWBENCH_PEERS"));
  for (std::string address; others >> address;) addresses.insert(address);
  for (const std::string &address : addresses)
    builtin.initialPeersList.push_back(udp_at(address.c_str(), 0));
  builtin.avoid_builtin_multicast = true;
  fd::TransportConfigQos &config = qos.transport();
  if (config.use_builtin_transports) {
    config.user_transports.push_back(std::make_shared<transports::SharedMemTransportDescriptor>());
    config.user_transports.push_back(std::make_shared<transports::UDPv4TransportDescriptor>());
    config.user_transports.front()->maxMessageSize = config.user_transports.back()->maxMessageSize;
    config.use_builtin_transports = false;
  }
  for (const auto &each : config.user_transports) each->maxInitialPeersRange = settings.peer_range;
}

[[noreturn]] void unreachable_server(const char *object) {
  throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object,
              "Fast DDS's discovery server is reached by UDP or TCP, and this arm has only shared "
              "memory; leave transport: shm away (as "
              "installed it is preferred within a host)"};
}

void by_server(const ArmSettings &settings, fd::DomainParticipantQos &qos) {
  if (has_only_shared_memory(qos.transport())) unreachable_server("mode discovery");
  auto &builtin = qos.wire_protocol().builtin;
  builtin.metatrafficMulticastLocatorList.clear();
  builtin.discovery_config.discoveryProtocol = Protocol::CLIENT;
  builtin.discovery_config.m_DiscoveryServers.clear();
  for (uint32_t number = 0; number < settings.server_count; ++number) add_server(number, qos);
}

}  // namespace

void add_server(uint32_t number, fd::DomainParticipantQos &qos) {
  auto &servers = qos.wire_protocol().builtin.discovery_config.m_DiscoveryServers;
  const rtps::Locator_t server = udp_at(server_address().c_str(), server_port(number));
#if RMWBENCH_FASTDDS_MAJOR >= 3
  servers.push_back(server);
#else
  rtps::RemoteServerAttributes remote;
  name_server(number, remote.guidPrefix);
  remote.metatrafficUnicastLocatorList.push_back(server);
  servers.push_back(remote);
#endif
}

std::string server_address() { return named("RMWBENCH_DAEMON_ADDRESS"); }

// On a shared host, a robot may use ROS 2's own port.
uint16_t server_port(uint32_t number) {
  constexpr uint16_t offset = 20;  // the same as in src/lib.rs
  const char *first = std::getenv("RMWBENCH_FIRST_PORT");
  const int start = first && *first ? std::atoi(first) + offset : first_port;
  return static_cast<uint16_t>(start + number);
}

void apply_discovery(const ArmSettings &settings, fd::DomainParticipantQos &qos) {
  auto &builtin = qos.wire_protocol().builtin;
  if (settings.server_added_s) {
    const bool by_servers = settings.discovery
                                ? *settings.discovery == Discovery::server
                                : builtin.discovery_config.discoveryProtocol == Protocol::CLIENT;
    if (!by_servers) {
      throw Fault{RMWBENCH_ERROR_INVALID, "option server_added_s",
                  "this arm finds its participants without a discovery server; say discovery: "
                  "server, or take the profile discovery_server"};
    }
    if (has_only_shared_memory(qos.transport())) unreachable_server("option server_added_s");
    if (settings.server_added_by_file) {
      // The file makes it a client only if it has these settings.
      builtin.discovery_config.discoveryProtocol = Protocol::SIMPLE;
      builtin.discovery_config.m_DiscoveryServers.clear();
      return;
    }
  }
  if (!settings.discovery) {
    const bool client = builtin.discovery_config.discoveryProtocol == Protocol::CLIENT;
    if (client && has_only_shared_memory(qos.transport())) unreachable_server("mode transport");
    if (settings.server_count == 1) return;
    if (!client) {
      throw Fault{RMWBENCH_ERROR_INVALID, "option server_count",
                  "this arm finds its participants without a discovery server; say discovery: "
                  "server, or take the profile discovery_server"};
    }
    by_server(settings, qos);
    return;
  }
  switch (*settings.discovery) {
    case Discovery::multicast:
      builtin.discovery_config.discoveryProtocol = Protocol::SIMPLE;
      builtin.discovery_config.m_DiscoveryServers.clear();
      builtin.initialPeersList.clear();
      break;
    case Discovery::peers:
      by_peers(settings, qos);
      break;
    case Discovery::server:
      by_server(settings, qos);
      break;
  }
}

void become_server(uint32_t number, bool persistent, fd::DomainParticipantQos &qos) {
  auto &wire = qos.wire_protocol();
  name_server(number, wire.prefix);
  wire.builtin.discovery_config.discoveryProtocol =
      persistent ? Protocol::BACKUP : Protocol::SERVER;
  // Not every address: if the host has only loopback, 2.9.1 reports that it could not get the port.
  wire.builtin.metatrafficUnicastLocatorList.push_back(
      udp_at(named("RMWBENCH_ADDRESS").c_str(), server_port(number)));
}

uint32_t servers_listening(uint32_t count) {
  if (named("RMWBENCH_DAEMON_ADDRESS") != named("RMWBENCH_ADDRESS"))
    return count;  // on another host, where it cannot be seen
  uint32_t found = 0;
  for (uint32_t number = 0; number < count; ++number) {
    char port[8];
    std::snprintf(port, sizeof port, ":%04X ", server_port(number));
    std::ifstream sockets("/proc/self/net/udp");
    for (std::string line; std::getline(sockets, line);) {
      // "  sl: local_address rem_address ..."; the first colon ends sl
      const size_t local = line.find(':');
      if (local != std::string::npos && line.find(port, local + 1) == local + 10) {
        ++found;
        break;
      }
    }
  }
  return found;
}

}  // namespace rmwbench
