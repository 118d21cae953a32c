#include "configuration.hpp"

#include <algorithm>
#include <sstream>

#include "qos.hpp"
#include "session.hpp"
#include "transports.hpp"

namespace rmwbench {
namespace {

// Writes elements by nesting; only the names of profiles need attributes.
class Xml {
 public:
  explicit Xml(std::ostringstream &out) : out_(out) {}

  template <typename Inside>
  void in(const std::string &tag, Inside inside, const std::string &attributes = "") {
    indent() << "<" << tag << attributes << ">\n";
    ++depth_;
    inside();
    --depth_;
    indent() << "</" << tag << ">\n";
  }

  template <typename Value>
  void leaf(const std::string &tag, const Value &value) {
    std::ostringstream text;
    text << std::boolalpha << value;
    indent() << "<" << tag << ">" << escaped(text.str()) << "</" << tag << ">\n";
  }

  void comment(const std::string &words) { indent() << "<!-- " << words << " -->\n"; }

  void duration(const std::string &tag, const Duration &time) {
    in(tag, [&] {
      if (time == forever) {
        leaf("sec", "DURATION_INFINITY");
      } else {
        leaf("sec", time.seconds);
        leaf("nanosec", time.nanosec);
      }
    });
  }

 private:
  static std::string escaped(const std::string &text) {
    std::string safe;
    for (const char c : text) {
      if (c == '&')
        safe += "&amp;";
      else if (c == '<')
        safe += "&lt;";
      else if (c == '>')
        safe += "&gt;";
      else
        safe += c;
    }
    return safe;
  }

  std::ostringstream &indent() {
    out_ << std::string(2 * depth_, ' ');
    return out_;
  }

  std::ostringstream &out_;
  size_t depth_ = 0;
};

void transport(Xml &xml, const transports::TransportDescriptorInterface &any,
               const std::string &id) {
  xml.in("transport_descriptor", [&] {
    xml.leaf("transport_id", id);
    if (const auto *memory = dynamic_cast<const transports::SharedMemTransportDescriptor *>(&any)) {
      xml.leaf("type", "SHM");
      xml.leaf("segment_size", memory->segment_size());
      xml.leaf("port_queue_capacity", memory->port_queue_capacity());
      xml.leaf("healthy_check_timeout_ms", memory->healthy_check_timeout_ms());
    } else if (const auto *socket =
                   dynamic_cast<const transports::SocketTransportDescriptor *>(&any)) {
      const auto *tcp = dynamic_cast<const transports::TCPv4TransportDescriptor *>(&any);
      xml.leaf("type", tcp != nullptr ? "TCPv4" : "UDPv4");
      xml.leaf("sendBufferSize", socket->sendBufferSize);
      xml.leaf("receiveBufferSize", socket->receiveBufferSize);
      if (const auto *udp = dynamic_cast<const transports::UDPTransportDescriptor *>(&any)) {
        xml.leaf("non_blocking_send", udp->non_blocking_send);
      }
      if (tcp != nullptr) {
        xml.in("listening_ports", [&] {
          for (const uint16_t port : tcp->listening_ports) xml.leaf("port", port);
        });
        xml.leaf("calculate_crc", tcp->calculate_crc);
        xml.leaf("check_crc", tcp->check_crc);
        xml.leaf("enable_tcp_nodelay", tcp->enable_tcp_nodelay);
      }
    }
    xml.leaf("maxMessageSize", any.max_message_size());
    xml.leaf("maxInitialPeersRange", any.max_initial_peers_range());
  });
}

void locators(Xml &xml, const std::string &tag, const rtps::LocatorList_t &list) {
  if (list.empty()) return;
  xml.in(tag, [&] {
    for (const auto &each : list) {
      xml.in("locator", [&] {
        if (each.kind == LOCATOR_KIND_SHM) {
          xml.comment("shared memory");
          return;
        }
        xml.in(each.kind == LOCATOR_KIND_TCPv4 ? "tcpv4" : "udpv4", [&] {
          if (each.kind == LOCATOR_KIND_TCPv4) {
            xml.leaf("physical_port", rtps::IPLocator::getPhysicalPort(each));
          } else {
            xml.leaf("port", each.port);
          }
          xml.leaf("address", rtps::IPLocator::toIPv4string(each));
        });
      });
    }
  });
}

const char *protocol_name(rtps::DiscoveryProtocol protocol) {
  using Protocol = rtps::DiscoveryProtocol;
  switch (protocol) {
    case Protocol::CLIENT:
      return "CLIENT";
    case Protocol::SERVER:
      return "SERVER";
    case Protocol::BACKUP:
      return "BACKUP";
    case Protocol::SUPER_CLIENT:
      return "SUPER_CLIENT";
    default:
      return "SIMPLE";
  }
}

void servers(Xml &xml, const rtps::DiscoverySettings &settings) {
  if (settings.m_DiscoveryServers.empty()) return;
  xml.in("discoveryServersList", [&] {
#if RMWBENCH_FASTDDS_MAJOR >= 3
    for (const auto &server : settings.m_DiscoveryServers) {
      xml.in("locator", [&] {
        xml.in("udpv4", [&] {
          xml.leaf("address", rtps::IPLocator::toIPv4string(server));
          xml.leaf("port", server.port);
        });
      });
    }
#else
    for (const auto &server : settings.m_DiscoveryServers) {
      std::ostringstream prefix;
      prefix << server.guidPrefix;
      xml.in("RemoteServer", [&] { locators(xml, "metatrafficUnicastLocatorList", server.metatrafficUnicastLocatorList); },
             " prefix=\"" + prefix.str() + "\"");
    }
#endif
  });
}

void builtin(Xml &xml, const rtps::BuiltinAttributes &config) {
  const auto &discovery = config.discovery_config;
  xml.in("builtin", [&] {
    xml.in("discovery_config", [&] {
      xml.leaf("discoveryProtocol", protocol_name(discovery.discoveryProtocol));
      xml.duration("leaseDuration", discovery.leaseDuration);
      xml.duration("leaseAnnouncement", discovery.leaseDuration_announcementperiod);
      xml.in("initialAnnouncements", [&] {
        xml.leaf("count", discovery.initial_announcements.count);
        xml.duration("period", discovery.initial_announcements.period);
      });
      servers(xml, discovery);
    });
    xml.leaf("avoid_builtin_multicast", config.avoid_builtin_multicast);
    locators(xml, "metatrafficUnicastLocatorList", config.metatrafficUnicastLocatorList);
    locators(xml, "metatrafficMulticastLocatorList", config.metatrafficMulticastLocatorList);
    locators(xml, "initialPeersList", config.initialPeersList);
  });
}

/// Whether the participant sets this property about its own host and process (2.9 and later), which
/// no file sets.
bool of_the_host(const rtps::Property &property) {
  return property.name().rfind("fastdds.physical_data.", 0) == 0;
}

void properties(Xml &xml, const fd::PropertyPolicyQos &policy) {
  std::vector<rtps::Property> set;
  for (const auto &each : policy.properties())
    if (!each.value().empty() && !of_the_host(each)) set.push_back(each);
  if (set.empty()) return;
  xml.in("propertiesPolicy", [&] {
    xml.in("properties", [&] {
      for (const auto &each : set) {
        xml.in("property", [&] {
          xml.leaf("name", each.name());
          xml.leaf("value", each.value());
        });
      }
    });
  });
}

void participant(Xml &xml, const fd::DomainParticipantQos &qos) {
  const auto &config = qos.transport();
  xml.in(
      "participant",
      [&] {
        xml.in("rtps", [&] {
          xml.leaf("name", qos.name().c_str());
          xml.leaf("sendSocketBufferSize", config.send_socket_buffer_size);
          xml.leaf("listenSocketBufferSize", config.listen_socket_buffer_size);
          if (!config.user_transports.empty()) {
            xml.in("userTransports", [&] {
              for (size_t i = 0; i < config.user_transports.size(); ++i)
                xml.leaf("transport_id", "transport_" + std::to_string(i));
            });
          }
          xml.leaf("useBuiltinTransports", config.use_builtin_transports);
          locators(xml, "defaultUnicastLocatorList",
                   qos.wire_protocol().default_unicast_locator_list);
          builtin(xml, qos.wire_protocol().builtin);
          properties(xml, qos.properties());
        });
      },
      " profile_name=\"rmwbench\" is_default_profile=\"true\"");
}

const char *data_sharing(const fd::DataSharingQosPolicy &policy) {
  switch (policy.kind()) {
    case fd::ON:
      return "ON";
    case fd::OFF:
      return "OFF";
    default:
      return "AUTOMATIC";
  }
}

constexpr char of_default[] = " profile_name=\"rmwbench\" is_default_profile=\"true\"";

void writer(Xml &xml, const rmwbench_session &session) {
  fd::DataWriterQos qos = session.profile.writer(*session.publisher, "");
  apply_times(session.settings, qos);
  if (!session.plain_types) qos.data_sharing().off();
  const auto &times = qos.reliable_writer_qos().times;
  xml.in(
      "data_writer",
      [&] {
        xml.in("qos", [&] {
          const bool async = qos.publish_mode().kind == fd::ASYNCHRONOUS_PUBLISH_MODE;
          xml.in("publishMode", [&] { xml.leaf("kind", async ? "ASYNCHRONOUS" : "SYNCHRONOUS"); });
          xml.in("data_sharing", [&] { xml.leaf("kind", data_sharing(qos.data_sharing())); });
        });
        xml.in("times", [&] {
#if RMWBENCH_FASTDDS_MAJOR >= 3
          xml.duration("heartbeat_period", times.heartbeat_period);
          xml.duration("nack_response_delay", times.nack_response_delay);
#else
      xml.duration("heartbeatPeriod", times.heartbeatPeriod);
      xml.duration("nackResponseDelay", times.nackResponseDelay);
#endif
        });
      },
      of_default);
}

void reader(Xml &xml, const rmwbench_session &session) {
  fd::DataReaderQos qos = session.profile.reader(*session.subscriber, "");
  if (!session.plain_types) qos.data_sharing().off();
  xml.in(
      "data_reader",
      [&] {
        xml.in("qos", [&] {
          xml.in("data_sharing", [&] { xml.leaf("kind", data_sharing(qos.data_sharing())); });
        });
        xml.in("times", [&] {
#if RMWBENCH_FASTDDS_MAJOR >= 3
          xml.duration("heartbeat_response_delay",
                       qos.reliable_reader_qos().times.heartbeat_response_delay);
#else
      xml.duration("heartbeatResponseDelay", qos.reliable_reader_qos().times.heartbeatResponseDelay);
#endif
        });
      },
      of_default);
}

void flow(Xml &xml, const rmwbench_session &session, const fd::DomainParticipantQos &qos) {
  if (!session.settings.flow) return;
  for (const auto &controller : qos.flow_controllers()) {
    std::ostringstream words;
    words << "flow controller " << controller->name << ": " << session.settings.flow->scheduler
          << ", " << controller->max_bytes_per_period << " bytes (0: no limit) in "
          << controller->period_ms << " ms; topics:";
    for (const auto &topic : session.settings.flow->topics) words << " " << topic;
    if (session.settings.flow->topics.empty()) words << " all";
    xml.comment(words.str());
  }
}

void kernel(Xml &xml) {
  const Buffers granted = granted_buffers();
  if (granted.receive == 0) return;
  xml.comment("granted by the kernel to this process's UDP sockets, at least: receive buffer " +
              std::to_string(granted.receive) + " bytes, send buffer " +
              std::to_string(granted.send) + " bytes");
}

}  // namespace

std::string configuration(const rmwbench_session &session) {
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  Xml xml(out);
  const fd::DomainParticipantQos &qos = session.participant->get_qos();
  xml.comment(
      "in force: profile, modes and options together; a publisher's or subscription's own QoS "
      "stands above it");
  xml.in(
      "dds",
      [&] {
        if (session.settings.transport) {
          xml.in("library_settings", [&] {
            xml.leaf("intraprocess_delivery",
                     *session.settings.transport == Transport::intra_process ? "FULL" : "OFF");
          });
        }
        xml.in("profiles", [&] {
          kernel(xml);
          flow(xml, session, qos);
          if (session.plain_types)
            xml.comment("topics have plain types: history memory policy PREALLOCATED, loans");
          if (!qos.transport().user_transports.empty()) {
            xml.in("transport_descriptors", [&] {
              size_t number = 0;
              for (const auto &each : qos.transport().user_transports)
                transport(xml, *each, "transport_" + std::to_string(number++));
            });
          }
          participant(xml, qos);
          writer(xml, session);
          reader(xml, session);
        });
      },
      " xmlns=\"http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles\"");
  return out.str();
}

}  // namespace rmwbench
