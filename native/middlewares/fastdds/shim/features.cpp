#include "features.hpp"

#include <rmwbench_fault.hpp>

#include "fastdds_api.hpp"

namespace rmwbench {

void apply_security(const ArmSettings &settings, fd::DomainParticipantQos &qos) {
  if (!settings.security) return;
#if HAVE_SECURITY
#if RMWBENCH_FASTDDS_MAJOR >= 3
  if (settings.transport == Transport::intra_process) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode security",
                "with security 3.6.2 matches no writer with a reader of the same participant, "
                "which is what nodes of one process have here"};
  }
#endif
#if RMWBENCH_FASTDDS_MAJOR > 3 || (RMWBENCH_FASTDDS_MAJOR == 3 && RMWBENCH_FASTDDS_MINOR >= 5)
  if (qos.wire_protocol().builtin.discovery_config.discoveryProtocol !=
      rtps::DiscoveryProtocol::SIMPLE) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode security",
                "since 3.5 a discovery server is secured by Fast DDS Pro alone: the free edition "
                "says so in its log, and 3.6.2 then crashes"};
  }
#endif
  auto &properties = qos.properties().properties();
  const auto set = [&](const char *name, const std::string &value) {
    properties.emplace_back(name, value);
  };
  const std::string files = "file://" + settings.security_directory + "/";
  set("dds.sec.auth.plugin", "builtin.PKI-DH");
  set("dds.sec.auth.builtin.PKI-DH.identity_ca", files + "identity_ca.cert.pem");
  set("dds.sec.auth.builtin.PKI-DH.identity_certificate", files + "cert.pem");
  set("dds.sec.auth.builtin.PKI-DH.private_key", files + "key.pem");
  set("dds.sec.access.plugin", "builtin.Access-Permissions");
  set("dds.sec.access.builtin.Access-Permissions.permissions_ca",
      files + "permissions_ca.cert.pem");
  set("dds.sec.access.builtin.Access-Permissions.governance", files + "governance.p7s");
  set("dds.sec.access.builtin.Access-Permissions.permissions", files + "permissions.p7s");
  set("dds.sec.crypto.plugin", "builtin.AES-GCM-GMAC");
#else
  (void)qos;
  throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode security",
              "this Fast DDS was built without DDS-Security (HAVE_SECURITY 0)"};
#endif
}

void apply_statistics(const ArmSettings &settings, fd::DomainParticipantQos &qos) {
  if (!settings.statistics || !*settings.statistics) return;
#ifdef FASTDDS_STATISTICS
  qos.properties().properties().emplace_back(
      "fastdds.statistics",
      "HISTORY_LATENCY_TOPIC;NETWORK_LATENCY_TOPIC;PUBLICATION_THROUGHPUT_TOPIC;SUBSCRIPTION_"
      "THROUGHPUT_TOPIC;RTPS_SENT_TOPIC;"
      "RTPS_LOST_TOPIC;HEARTBEAT_COUNT_TOPIC;ACKNACK_COUNT_TOPIC;NACKFRAG_COUNT_TOPIC;GAP_COUNT_"
      "TOPIC;DATA_COUNT_TOPIC;"
      "RESENT_DATAS_TOPIC;SAMPLE_DATAS_TOPIC;PDP_PACKETS_TOPIC;EDP_PACKETS_TOPIC;DISCOVERY_TOPIC;"
      "PHYSICAL_DATA_TOPIC");
#else
  (void)qos;
  throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option statistics",
              "this Fast DDS was built without its statistics module (FASTDDS_STATISTICS)"};
#endif
}

}  // namespace rmwbench
