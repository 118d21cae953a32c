// The hosts of a trial, as the orchestrator tells them to workers and daemons
// (docs/formats/worker-protocol.md).
#pragma once

#include <string>
#include <vector>

namespace rmwbench {

struct Hosts {
  // This host's address; 127.0.0.1 where the trial has one host.
  std::string own;
  // The addresses of the other hosts, each as often as it has workers; empty where the trial has
  // one host.
  std::vector<std::string> peers;
  // The host of the daemons.
  std::string daemon;

  bool several() const { return !peers.empty() || own != "127.0.0.1"; }
  // The other hosts, each once.
  std::vector<std::string> others() const;
};

Hosts hosts_of_the_trial();

// Whether the IPv4 address `one` is lower than `other`: of two hosts, the orchestrator numbers the
// earlier one lower.
bool lower(const std::string &one, const std::string &other);

}  // namespace rmwbench
