#include "hosts.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace rmwbench {
namespace {

std::string variable(const char *name, const char *otherwise) {
  const char *text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : otherwise;
}

}  // namespace

std::vector<std::string> Hosts::others() const {
  std::vector<std::string> found;
  for (const auto &address : peers) {
    if (std::find(found.begin(), found.end(), address) == found.end()) found.push_back(address);
  }
  return found;
}

Hosts hosts_of_the_trial() {
  Hosts hosts;
  hosts.own = variable("RMWBENCH_ADDRESS", "127.0.0.1");
  hosts.daemon = variable("RMWBENCH_DAEMON_ADDRESS", "127.0.0.1");
  std::istringstream all(variable("RMWBENCH_PEERS", ""));
  for (std::string address; all >> address;) hosts.peers.push_back(address);
  return hosts;
}

bool lower(const std::string &one, const std::string &other) {
  return ntohl(inet_addr(one.c_str())) < ntohl(inet_addr(other.c_str()));
}

}  // namespace rmwbench
