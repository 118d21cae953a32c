#include "server.hpp"

#include <unistd.h>

#include <cstdlib>

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>

#include <rmwbench_fault.hpp>

#include "discovery.hpp"
#include "fastdds_api.hpp"
#include "features.hpp"
#include "profile.hpp"
#include "transports.hpp"

using namespace rmwbench;

namespace {

// The number in a daemon's name: "server" is 0, "server-3" is 3.
uint32_t number_of(const std::string &name) {
  const std::string first = "server";
  if (name == first) return 0;
  char *end = nullptr;
  const std::string digits = name.rfind(first + "-", 0) == 0 ? name.substr(first.size() + 1) : "";
  const unsigned long number = std::strtoul(digits.c_str(), &end, 10);
  if (digits.empty() || *end != '\0' || number > 15) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "daemon " + name,
                "Fast DDS's daemons are server, server-1 ... server-15"};
  }
  return static_cast<uint32_t>(number);
}

}  // namespace

rmwbench_daemon::rmwbench_daemon(const std::string &name, const rmwbench_session_config &config) {
  const uint32_t number = number_of(name);
  const ArmSettings settings(config.modes, config.mode_count, config.options, config.option_count);
  shut_out_the_environment();
  log_to_stderr();
  // The QoS is the server's own and not that of the arm's profile, which makes clients.
  fd::DomainParticipantQos qos = fd::PARTICIPANT_QOS_DEFAULT;
  qos.name("rmwbench " + name);
  become_server(number, settings.server_persistence, qos);
  keep_to_loopback(qos);
  apply_security(settings, qos);
  // The directory where a persistent server stores its data; it is private to the host.
  const char *directory = std::getenv("TMPDIR");
  if (settings.server_persistence && chdir(directory && *directory ? directory : "/tmp") != 0) {
    throw Fault{RMWBENCH_ERROR_FAILED, "daemon " + name,
                "it cannot enter the temporary directory, where it would keep what it knows"};
  }
  participant_ =
      fd::DomainParticipantFactory::get_instance()->create_participant(config.domain_id, qos);
  if (participant_ == nullptr) {
    throw Fault{RMWBENCH_ERROR_FAILED, "daemon " + name,
                "Fast DDS could not create a server; its words are on stderr"};
  }
}

rmwbench_daemon::~rmwbench_daemon() {
  fd::DomainParticipantFactory::get_instance()->delete_participant(participant_);
}
