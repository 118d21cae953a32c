#include "transports.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>

#include <rmwbench_fault.hpp>

namespace rmwbench {
namespace {

using Descriptor = std::shared_ptr<transports::TransportDescriptorInterface>;
using Udp = transports::UDPv4TransportDescriptor;
using Tcp = transports::TCPv4TransportDescriptor;
using SharedMemory = transports::SharedMemTransportDescriptor;

template <typename Kind>
Kind *as(const Descriptor &descriptor) {
  return dynamic_cast<Kind *>(descriptor.get());
}

template <typename Kind>
bool has(const std::vector<Descriptor> &all) {
  return std::any_of(all.begin(), all.end(),
                     [](const Descriptor &d) { return as<Kind>(d) != nullptr; });
}

// The transports that Fast DDS makes by itself if no profile names any.
void write_out_builtin(fd::TransportConfigQos &config) {
  if (!config.use_builtin_transports) return;
  auto udp = std::make_shared<Udp>();
  udp->sendBufferSize = config.send_socket_buffer_size;
  udp->receiveBufferSize = config.listen_socket_buffer_size;
  auto shared_memory = std::make_shared<SharedMemory>();
  shared_memory->segment_size(
      2 * std::max(config.send_socket_buffer_size, config.listen_socket_buffer_size));
  shared_memory->max_message_size(udp->max_message_size());
  if (!has<SharedMemory>(config.user_transports))
    config.user_transports.insert(config.user_transports.begin(), shared_memory);
  if (!has<Udp>(config.user_transports)) config.user_transports.push_back(udp);
  config.use_builtin_transports = false;
}

// The profile's descriptors belong to the library, and its other sessions use them, too.
void copy_descriptors(fd::TransportConfigQos &config) {
  for (Descriptor &each : config.user_transports) {
    if (auto *udp = as<Udp>(each))
      each = std::make_shared<Udp>(*udp);
    else if (auto *tcp = as<Tcp>(each))
      each = std::make_shared<Tcp>(*tcp);
    else if (auto *shared_memory = as<SharedMemory>(each))
      each = std::make_shared<SharedMemory>(*shared_memory);
  }
}

template <typename Kind>
void keep_only(std::vector<Descriptor> &all) {
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const Descriptor &d) { return as<Kind>(d) == nullptr; }),
            all.end());
  if (all.empty()) all.push_back(std::make_shared<Kind>());
}

// A TCP port that is free now. 2.9.1 does not accept port 0 for "any".
uint16_t free_tcp_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  const bool got = fd >= 0 && bind(fd, reinterpret_cast<sockaddr *>(&address), size) == 0 &&
                   getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) == 0;
  if (fd >= 0) close(fd);
  if (!got) throw Fault{RMWBENCH_ERROR_FAILED, "mode transport", "no TCP port is free"};
  return ntohs(address.sin_port);
}

// Data over TCP, discovery over UDP: Fast DDS's own LARGE_DATA does the same, because TCP has no
// multicast for discovery.
void over_tcp(fd::DomainParticipantQos &qos) {
  auto &all = qos.transport().user_transports;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const Descriptor &d) { return as<SharedMemory>(d) != nullptr; }),
            all.end());
  if (!has<Udp>(all)) all.push_back(std::make_shared<Udp>());
  if (!has<Tcp>(all)) {
    auto tcp = std::make_shared<Tcp>();
    tcp->add_listener_port(free_tcp_port());
    // By default 2.x adds a checksum to a stream that already has one, and uses Nagle's algorithm,
    // which waits for more data.
    tcp->calculate_crc = false;
    tcp->check_crc = false;
    tcp->enable_tcp_nodelay = true;
    all.push_back(tcp);
  }
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const Descriptor &d) { return as<Tcp>(d) != nullptr; });
  const Tcp &tcp = *as<Tcp>(*found);
  rtps::Locator_t data;
  data.kind = LOCATOR_KIND_TCPv4;
  rtps::IPLocator::setIPv4(data, std::string("0.0.0.0"));
  rtps::IPLocator::setPhysicalPort(data,
                                   tcp.listening_ports.empty() ? 0 : tcp.listening_ports.front());
  qos.wire_protocol().default_unicast_locator_list.clear();
  qos.wire_protocol().default_unicast_locator_list.push_back(data);

  rtps::Locator_t hear, announce;
  hear.kind = announce.kind = LOCATOR_KIND_UDPv4;
  rtps::IPLocator::setIPv4(hear, std::string("0.0.0.0"));
  rtps::IPLocator::setIPv4(announce, std::string("239.255.0.1"));
  auto &builtin = qos.wire_protocol().builtin;
  builtin.metatrafficUnicastLocatorList.push_back(hear);
  builtin.metatrafficMulticastLocatorList.push_back(announce);
}

void choose(const ArmSettings &settings, fd::DomainParticipantQos &qos) {
  auto &all = qos.transport().user_transports;
  switch (*settings.transport) {
    case Transport::udp:
      keep_only<Udp>(all);
      break;
    case Transport::shm:
      keep_only<SharedMemory>(all);
      break;
    case Transport::tcp:
      over_tcp(qos);
      break;
    case Transport::intra_process:
      break;  // the transports carry discovery and other processes' data
  }
}

[[noreturn]] void no_such_transport(const char *mode, const char *kind) {
  throw Fault{RMWBENCH_ERROR_UNSUPPORTED, std::string("mode ") + mode,
              std::string("this arm has no ") + kind + " transport to size"};
}

}  // namespace

bool apply_transports(const ArmSettings &settings, fd::DomainParticipantQos &qos) {
  if (!settings.transport && !settings.congestion && !settings.shm_pool_bytes) return false;
  fd::TransportConfigQos &config = qos.transport();
  write_out_builtin(config);
  copy_descriptors(config);
  if (settings.transport) choose(settings, qos);
  bool memory = false, datagrams = false;
  for (const Descriptor &each : config.user_transports) {
    if (auto *shared_memory = as<SharedMemory>(each)) {
      memory = true;
      if (settings.shm_pool_bytes) shared_memory->segment_size(*settings.shm_pool_bytes);
    }
    if (auto *udp = as<Udp>(each)) {
      datagrams = true;
      if (settings.congestion) udp->non_blocking_send = *settings.congestion == Congestion::drop;
    }
  }
  if (settings.shm_pool_bytes && !memory) no_such_transport("shm_pool_bytes", "shared-memory");
  if (settings.congestion && (!datagrams || settings.transport == Transport::tcp)) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode congestion",
                "Fast DDS can choose between dropping and blocking on a full socket with UDP only; "
                "its shared memory always drops and "
                "repairs, its TCP always blocks"};
  }
  return memory && settings.congestion;
}

void keep_to_loopback(fd::DomainParticipantQos &qos) {
  const char *host = std::getenv("RMWBENCH_SHARED_HOST");
  if (host == nullptr || *host == '\0') return;
  write_out_builtin(qos.transport());
  copy_descriptors(qos.transport());
  for (const Descriptor &each : qos.transport().user_transports) {
    if (auto *socket = as<transports::SocketTransportDescriptor>(each))
      socket->interfaceWhiteList = {"127.0.0.1"};
  }
}

void apply_intra_process(const ArmSettings &settings) {
  if (!settings.transport) return;
  const std::string level = *settings.transport == Transport::intra_process ? "FULL" : "OFF";
  const std::string xml =
      "<?xml version=\"1.0\"?><dds xmlns=\"http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles\">"
      "<library_settings><intraprocess_delivery>" +
      level + "</intraprocess_delivery></library_settings></dds>";
  if (fd::DomainParticipantFactory::get_instance()->load_XML_profiles_string(xml.data(),
                                                                             xml.size()) != ok) {
    throw Fault{RMWBENCH_ERROR_FAILED, "mode transport",
                "Fast DDS refused intraprocess_delivery " + level + "; its words are on stderr"};
  }
}

Buffers granted_buffers() {
  Buffers least;
  const auto take = [](int fd, int option, uint32_t &smallest) {
    int value = 0;
    socklen_t size = sizeof value;
    if (getsockopt(fd, SOL_SOCKET, option, &value, &size) != 0) return;
    const auto asked_for = static_cast<uint32_t>(value) / 2;
    smallest = smallest == 0 ? asked_for : std::min(smallest, asked_for);
  };
  for (int fd = 0; fd < 1024; ++fd) {
    int domain = 0, type = 0;
    socklen_t size = sizeof(int);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_INET) continue;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_DGRAM) continue;
    take(fd, SO_RCVBUF, least.receive);
    take(fd, SO_SNDBUF, least.send);
  }
  return least;
}

}  // namespace rmwbench
