// The graph of a running system, for users who want to reproduce its traffic.
#pragma once

#include <cstdint>

namespace rmwbench {

// The exit codes of `--graph`.
enum GraphEnd : int { GRAPH_READ = 0, GRAPH_FAILED = 2, GRAPH_EMPTY = 3 };

// Joins the domain with the RMW of the environment and prints as JSON what rosgraph_msgs/Graph has
// of its nodes: publishers and subscriptions, their types and QoS. The node that reads has no
// endpoint of its own, so it sends nothing but discovery. Errors are printed to stderr.
int print_graph(uint32_t domain_id) noexcept;

}  // namespace rmwbench
