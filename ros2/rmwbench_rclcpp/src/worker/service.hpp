#pragma once

#include <atomic>

#include "endpoints.hpp"

namespace rmwbench {

rmwbench_client *make_client(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_sink &sink);
void destroy(rmwbench_client *client);
rmwbench_status request(rmwbench_client &client, const uint8_t *payload, size_t bytes);
uint32_t matched(const rmwbench_client &client);
void granted(const rmwbench_client &client, rmwbench_granted &granted);
void account(const rmwbench_client &client, const rmwbench_account &account);

rmwbench_service *make_service(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_handler &handler);
void destroy(rmwbench_service *service);
uint32_t matched(const rmwbench_service &service);
void granted(const rmwbench_service &service, rmwbench_granted &granted);

}  // namespace rmwbench
