// The worker's data about each RMW: its capabilities, its modes, the file from which it reads its
// configuration, its daemons. An RMW that is not listed runs as installed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rmwbench {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct EmbeddedProfile {
  std::string name;
  std::string text;  // empty: no file
  std::string summary;
  std::vector<std::string> daemons;
  Pairs environment;                 // besides the file
  std::string one_host;              // what keeps it within one host; empty: nothing does
  uint64_t shared_memory_bytes = 0;  // what each process takes of /dev/shm
  bool histories = false;            // and each publisher's full history besides
};

// The daemons of a level of a mode, instead of those of the profile; none: it needs no daemon.
struct ModeDaemons {
  std::string mode, level;
  std::vector<std::string> daemons;
};

struct Rmw {
  std::string name;
  std::string
      library;  // package of the middleware itself, for its version; empty where there is none
  std::string format;           // of its configuration: "xml", "json5", "none"
  std::string variable;         // names the file; empty: the RMW reads none
  std::string variable_prefix;  // before the path: "file://"
  Pairs capabilities;
  Pairs modes;
  std::vector<EmbeddedProfile> profiles;
  std::vector<ModeDaemons> mode_daemons = {};
  std::vector<std::string> daemons_each_host =
      {};  // the names of the daemons that run on every host
  std::string
      on_shared_host;        // settings forced there (shared_host.hpp); empty: not supported there
  Pairs not_on_shared_host;  // daemon → why
};

// A configuration of Cyclone DDS with these settings in every domain.
std::string any_domain(const std::string &settings);

// The part of a configuration of Cyclone DDS that sends messages within a host through iceoryx.
// Empty if this installation cannot do that.
std::string iceoryx_on();

Rmw rmw_named(const std::string &name);

// The UDP port of Fast DDS's discovery server.
uint16_t discovery_server_port();

// The address of the trial's discovery server: HOST:PORT.
std::string discovery_server();

// The RMW that RMW_IMPLEMENTATION names. Throws Fault if the variable is not set or no such RMW is
// installed.
const Rmw &current_rmw();

}  // namespace rmwbench
