// How the modes of a trial reach an RMW: by environment variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "rmw.hpp"

namespace rmwbench {

// The level of a mode; empty where it is not asked.
const std::string &level(const std::map<std::string, std::string> &modes, const char *name);

// What `modes` (name → level as in the protocol) come to for this RMW: environment variables to
// set, in order. Modes that are rclcpp's (executor, threads, transport intra_process) are not here.
// `daemon`: the name of the daemon that is to be configured; empty for a worker. `keystore`: the
// directory of the trial's, where it is secured; else empty. Throws Fault for a level that it
// cannot do.
Pairs environment_of_modes(const Rmw &rmw, const std::map<std::string, std::string> &modes,
                           const std::string &profile_text, const std::string &daemon,
                           const std::string &keystore);

// The pool of shared memory that this RMW makes at its first large message, in bytes; 0: none.
uint64_t pool_bytes(const Rmw &rmw, const std::map<std::string, std::string> &modes,
                    const std::string &profile_text);

}  // namespace rmwbench
