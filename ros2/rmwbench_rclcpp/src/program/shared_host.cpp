#include "shared_host.hpp"

#include <cstdlib>
#include <regex>

#include <rmwbench_fault.hpp>

namespace rmwbench {
namespace {

std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text == nullptr ? "" : text;
}

bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

const char udp_type[] = "<type>UDPv4</type>";
const char whitelist[] = "<interfaceWhiteList><address>127.0.0.1</address></interfaceWhiteList>";

// The transports as installed: shared memory and UDP, or UDP alone.
std::string transports(bool shared_memory) {
  const auto descriptor = [](const std::string &id, const std::string &rest) {
    return "<transport_descriptor><transport_id>" + id + "</transport_id>" + rest +
           "</transport_descriptor>";
  };
  const auto used = [](const std::string &id) { return "<transport_id>" + id + "</transport_id>"; };
  const std::string udp = std::string(udp_type) + whitelist, shm = "<type>SHM</type>";
  return "<transport_descriptors>" + (shared_memory ? descriptor("shm", shm) : "") +
         descriptor("udp", udp) +
         "</transport_descriptors>"
         "<participant profile_name=\"loopback\" "
         "is_default_profile=\"true\"><rtps><userTransports>" +
         (shared_memory ? used("shm") : "") + used("udp") +
         "</userTransports><useBuiltinTransports>false</useBuiltinTransports></rtps></participant>";
}

const char frame[] =
    "<dds xmlns=\"http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles\"><profiles></profiles>"
    "</dds>\n";

}  // namespace

std::string shared_host() { return variable("RMWBENCH_SHARED_HOST"); }

uint16_t port_of_trial(uint16_t usual, uint16_t offset) {
  const std::string first = variable("RMWBENCH_FIRST_PORT");
  return first.empty() ? usual : static_cast<uint16_t>(std::stoul(first) + offset);
}

std::string directory_of_trial() {
  const std::string given = variable("TMPDIR");
  return shared_host().empty() || given.empty() ? "/tmp" : given;
}

std::string fastdds_on_loopback(const std::string &profile, const std::string &transport) {
  if (transport == "shm") return profile;  // it has no socket
  const auto cannot = [](const std::string &object, const std::string &why) {
    return Fault{RMWBENCH_ERROR_UNSUPPORTED, object, why + ", and this host shares its interfaces"};
  };
  if (transport == "tcp")
    throw cannot("mode transport", "tcp: LARGE_DATA of Fast DDS listens on every interface");
  std::string text = profile.empty() ? frame : profile;
  if (has(text, "<type>TCPv") || has(text, "<type>UDPv6"))
    throw cannot("profile", "it has TCP or UDPv6");
  const std::regex udp("<type>\\s*UDPv4\\s*</type>");
  if (std::regex_search(text, udp)) {
    if (has(text, "interfaceWhiteList")) {
      text = std::regex_replace(text, std::regex("<interfaceWhiteList>[^]*?</interfaceWhiteList>"),
                                "");
    }
    return std::regex_replace(text, udp, std::string(udp_type) + whitelist);
  }
  const std::string profiles = "<profiles>";
  const auto at = text.find(profiles);
  if (at == std::string::npos || has(text, "<participant") || has(text, "transport_descriptors"))
    throw cannot("profile", "it has a participant without a descriptor of its UDPv4");
  return text.insert(at + profiles.size(), transports(transport != "udp"));
}

std::string cyclonedds_without_interfaces(const std::string &profile) {
  static const std::regex comment("<!--[^]*?-->");
  static const std::regex empty("<NetworkInterface(Address)?\\b[^>]*/>");
  static const std::regex whole(
      "<NetworkInterface(Address)?\\b[^>]*>[^]*?</NetworkInterface(Address)?>");
  const std::string text = std::regex_replace(profile, comment, "");
  return std::regex_replace(std::regex_replace(text, empty, ""), whole, "");
}

}  // namespace rmwbench
