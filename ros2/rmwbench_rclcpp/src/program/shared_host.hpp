// A host without namespaces of its own, as in an ordinary container (rmwbench/lab/host/shared.py):
// its processes share the machine's network, /tmp and /dev/shm with other programs, possibly a
// robot's, and must not communicate with them. Its DDS domain is the session's.
#pragma once

#include <cstdint>
#include <string>

namespace rmwbench {

// The host's own name; empty if the trial has namespaces of its own.
std::string shared_host();

// The port for a daemon: `usual` in a host with a network of its own, else the shared host's first
// port plus `offset`.
uint16_t port_of_trial(uint16_t usual, uint16_t offset);

// The directory for files of the trial, apart from those of others.
std::string directory_of_trial();

// The file that Fast DDS reads on a shared host: `profile` with 127.0.0.1 as the only interface of
// its UDP. `transport`: the mode's level, empty if it is not set. Throws Fault if the profile has
// no place for the interface.
std::string fastdds_on_loopback(const std::string &profile, const std::string &transport);

// `profile` of Cyclone DDS without its interfaces: the settings of the modes name the loopback
// interface, and Cyclone would append to a list of interfaces instead of replacing it.
std::string cyclonedds_without_interfaces(const std::string &profile);

}  // namespace rmwbench
