// The hosts of a trial, as the orchestrator passes them to workers and daemons
// (docs/formats/worker-protocol.md).
#pragma once

#include <string>
#include <vector>

namespace rmwbench {

struct Hosts {
  // This host's address; 127.0.0.1 if the trial has one host.
  std::string own;
  // The addresses of the other hosts, each as often as it has workers; empty if the trial has one
  // host.
  std::vector<std::string> peers;
  // The address of the daemons' host.
  std::string daemon;

  bool several() const { return !peers.empty() || own != "127.0.0.1"; }
  // The other hosts, each once.
  std::vector<std::string> others() const;
};

Hosts hosts_of_the_trial();

// Whether the IPv4 address `one` is lower than `other`: the orchestrator gives the earlier of two
// hosts the lower address.
bool lower(const std::string &one, const std::string &other);

}  // namespace rmwbench
