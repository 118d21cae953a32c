// How the modes of a trial reach an RMW: by environment variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "rmw.hpp"

namespace rmwbench {

// The level of a mode; empty if the mode is not set.
const std::string &level(const std::map<std::string, std::string> &modes, const char *name);

// The environment variables that `modes` (name → level as in the protocol) mean for this RMW, in
// the order in which they are set. Modes of rclcpp itself (executor, threads, transport
// intra_process) are not included. `daemon`: the name of the daemon that is to be configured; empty
// for a worker. `keystore`: the directory of the trial's keystore if the trial is secured; else
// empty. Throws Fault for a level that the RMW does not support.
Pairs environment_of_modes(const Rmw &rmw, const std::map<std::string, std::string> &modes,
                           const std::string &profile_text, const std::string &daemon,
                           const std::string &keystore);

// The size of the pool of shared memory that this RMW makes at its first large message, in bytes;
// 0: none.
uint64_t pool_bytes(const Rmw &rmw, const std::map<std::string, std::string> &modes,
                    const std::string &profile_text);

}  // namespace rmwbench
