// For workers in C++: a table whose functions pass each call to a method of the worker's object.
//
// Include it after the definitions of rmwbench_node, rmwbench_publisher, rmwbench_subscription,
// rmwbench_client and rmwbench_service: their members have the names of the functions.
#pragma once

#include "rmwbench_fault.hpp"
#include "rmwbench_worker.h"

namespace rmwbench {

// The worker itself sets the functions that create objects, and those that only it has.
inline rmwbench_middleware table_of_objects() {
  rmwbench_middleware table{};
  table.abi_version = RMWBENCH_ABI_VERSION;
  table.struct_bytes = sizeof table;
  table.node_destroy = [](rmwbench_node *node) { delete node; };

  table.publisher_destroy = [](rmwbench_publisher *publisher) { delete publisher; };
  table.publish = [](rmwbench_publisher *publisher, const uint8_t *payload, size_t bytes) {
    return sent([&] { return publisher->publish(payload, bytes); });
  };
  table.loan = [](rmwbench_publisher *publisher, size_t bytes, uint8_t **memory) {
    return sent([&] { return publisher->loan(bytes, memory); });
  };
  table.commit = [](rmwbench_publisher *publisher, uint8_t *memory, size_t bytes) {
    return sent([&] { return publisher->commit(memory, bytes); });
  };
  table.publisher_matched = [](rmwbench_publisher *publisher) {
    return infallible([&] { return publisher->matched(); });
  };
  table.publisher_granted = [](rmwbench_publisher *publisher, rmwbench_granted *granted) {
    infallible([&] { publisher->granted(*granted); });
  };
  table.publisher_account = [](rmwbench_publisher *publisher, const rmwbench_account *account) {
    infallible([&] { publisher->account(*account); });
  };

  table.subscription_destroy = [](rmwbench_subscription *subscription) { delete subscription; };
  table.subscription_matched = [](rmwbench_subscription *subscription) {
    return infallible([&] { return subscription->matched(); });
  };
  table.subscription_granted = [](rmwbench_subscription *subscription, rmwbench_granted *granted) {
    infallible([&] { subscription->granted(*granted); });
  };
  table.subscription_account = [](rmwbench_subscription *subscription,
                                  const rmwbench_account *account) {
    infallible([&] { subscription->account(*account); });
  };

  table.client_destroy = [](rmwbench_client *client) { delete client; };
  table.client_request = [](rmwbench_client *client, const uint8_t *payload, size_t bytes) {
    return sent([&] { return client->request(payload, bytes); });
  };
  table.client_matched = [](rmwbench_client *client) {
    return infallible([&] { return client->matched(); });
  };
  table.client_granted = [](rmwbench_client *client, rmwbench_granted *granted) {
    infallible([&] { client->granted(*granted); });
  };
  table.client_account = [](rmwbench_client *client, const rmwbench_account *account) {
    infallible([&] { client->account(*account); });
  };

  table.service_destroy = [](rmwbench_service *service) { delete service; };
  table.service_matched = [](rmwbench_service *service) {
    return infallible([&] { return service->matched(); });
  };
  table.service_granted = [](rmwbench_service *service, rmwbench_granted *granted) {
    infallible([&] { service->granted(*granted); });
  };
  table.service_account = [](rmwbench_service *service, const rmwbench_account *account) {
    infallible([&] { service->account(*account); });
  };
  return table;
}

}  // namespace rmwbench
