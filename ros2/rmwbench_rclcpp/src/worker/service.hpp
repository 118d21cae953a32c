#pragma once

#include "endpoints.hpp"

namespace rmwbench {

rmwbench_client *make_client(rmwbench_node &node, const rmwbench_endpoint_config &config,
                             const rmwbench_sink &sink);
rmwbench_service *make_service(rmwbench_node &node, const rmwbench_endpoint_config &config,
                               const rmwbench_handler &handler);

// How many clients of a service the graph shows to this node.
uint32_t clients_of(rclcpp::Node &node, const std::string &service);

// Throws Fault if the message type is not that of a service.
void check_service_type(const rmwbench_endpoint_config &config);

}  // namespace rmwbench
