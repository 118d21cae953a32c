#pragma once

#include <vector>

#include <rmwbench_worker.h>

#include "rmw.hpp"

namespace rmwbench {

// The form that the harness takes; the texts stay those of `pairs`.
std::vector<rmwbench_pair> borrowed(const Pairs &pairs);

// The description of the RMW that RMW_IMPLEMENTATION names; it lives as long as the process. Throws
// Fault if there is none.
const rmwbench_description &description();

// Prints {"middlewares": […]} with one description for each RMW of the sourced ROS 2; each comes
// from a process of its own, since a process has one RMW. Returns the exit code.
int describe_all(const char *self);

}  // namespace rmwbench
