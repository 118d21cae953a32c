// How sessions and routers of rmw_zenoh_cpp find each other: the keys of Zenoh's configuration that
// the mode discovery replaces.
#pragma once

#include <cstdint>
#include <string>

#include "rmw.hpp"

namespace rmwbench {

// The router of a host, which every session of that host knows; and the one router of a trial,
// which is on the daemons' host.
inline constexpr char HOST_ROUTER[] = "router";
inline constexpr char CENTRAL_ROUTER[] = "central_router";

// The TCP port of every router of the trial.
uint16_t router_port();

// Key → JSON5, for a session. `discovery`: the mode's level, empty if it is not set. Throws Fault.
Pairs session_discovery(const std::string &discovery);

// transport_optimization.pool_size in rmw_zenoh_cpp's DEFAULT_RMW_ZENOH_SESSION_CONFIG.json5
// (0.2.10), and in the profile `tuned`.
inline constexpr uint64_t AS_INSTALLED_POOL_BYTES = 50'331'648;

// Key → JSON5, for the router with that name.
Pairs router_discovery(const std::string &name);

// Whether sessions find each other without a router: they need not look for one when they open.
bool needs_no_router(const std::string &discovery);

}  // namespace rmwbench
