// The pool of shared memory that Zenoh makes for rmw_zenoh after the first large message.
#pragma once

#include <cstdint>

#include <rclcpp/node.hpp>

namespace rmwbench {

// Publishes a large message on a topic without subscriptions, and waits until a segment of `bytes`
// is in this process. Zenoh makes the pool in a thread of its own, which touches all of it: 3 s for
// 1.4 GB of memory that the machine has never used. Until then messages go by TCP, and page faults
// delay every thread of the process. Throws Fault if the pool does not exist after 8 s.
void await_pool(rclcpp::Node &node, uint64_t bytes);

}  // namespace rmwbench
