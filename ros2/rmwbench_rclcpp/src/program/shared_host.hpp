// A host without namespaces of its own, as in an ordinary container (rmwbench/lab/host/shared.py):
// its processes share the machine's network, /tmp and /dev/shm with whoever else is there, a
// robot's among them, and must meet none of them. Its DDS domain is the session's.
#pragma once

#include <cstdint>
#include <string>

namespace rmwbench {

// The host's own name; empty where the trial has namespaces of its own.
std::string shared_host();

// The port that a daemon takes: `usual` in a host with a network of its own, else `offset` behind
// the shared host's first one.
uint16_t port_of_trial(uint16_t usual, uint16_t offset);

// Where files of the trial lie, which may not meet those of others.
std::string directory_of_trial();

// The file that Fast DDS reads on a shared host: `profile` with 127.0.0.1 as the only interface of
// its UDP. `transport`: the mode's level, empty where it is not asked. Throws Fault where the
// profile has no such place.
std::string fastdds_on_loopback(const std::string &profile, const std::string &transport);

// `profile` of Cyclone DDS without its interfaces: what the modes add names the loopback, and a
// list of interfaces would grow and not be replaced.
std::string cyclonedds_without_interfaces(const std::string &profile);

}  // namespace rmwbench
