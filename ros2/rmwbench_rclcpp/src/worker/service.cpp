// Requests and replies over rmwbench_msgs/srv/Bytes: a client that never waits, and a service that answers from within its callback.

#include "service.hpp"

#include <rmwbench_msgs/srv/bytes.hpp>

#include "executor_loop.hpp"
#include "fault.hpp"
#include "inbox.hpp"
#include "qos.hpp"
#include "requests.hpp"
#include "take_loop.hpp"

#if __has_include(<rclcpp/version.h>)
#include <rclcpp/version.h>
#endif

// Humble takes the profile of rmw here, its successors rclcpp's QoS.
#if defined(RCLCPP_VERSION_GTE)
#if RCLCPP_VERSION_GTE(18, 0, 0)
#define RMWBENCH_SERVICE_QOS(qos) (qos)
#define RMWBENCH_COUNTS_CLIENTS 1
#endif
#endif
#ifndef RMWBENCH_SERVICE_QOS
#define RMWBENCH_SERVICE_QOS(qos) (qos).get_rmw_qos_profile()
#endif

namespace rmwbench {
namespace {

using Call = rmwbench_msgs::srv::Bytes;

class ServiceClient final : public rmwbench_client {
 public:
  ServiceClient(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_sink &sink)
      : receiving_(node, config), inbox_(std::make_shared<Inbox>(sink, config.endpoint)), asked_(asked_qos(config)) {
    check_service_type(config);
    client_ = receiving_.node->create_client<Call>(config.topic, RMWBENCH_SERVICE_QOS(asked_), receiving_.group);
    if (receiving_.loop != nullptr) {
      Source source;
      source.client = client_;
      source.take = [this] { return take(); };
      source_ = receiving_.loop->add(std::move(source));
    }
  }

  ~ServiceClient() override {
    inbox_->close();
    if (source_ != nullptr) receiving_.loop->remove(source_);
    const std::weak_ptr<void> object = client_;
    client_.reset();
    receiving_.released(object);
  }

  rmwbench_status request(const uint8_t *payload, size_t bytes) override {
    auto message = std::make_shared<Call::Request>();
    message->data.assign(payload, payload + bytes);
    try {
      client_->async_send_request(message, [inbox = inbox_](rclcpp::Client<Call>::SharedFuture future) {
        const auto reply = future.get();
        inbox->arrive(reply->data.data(), reply->data.size(), false, false);
      });
      return RMWBENCH_OK;
    } catch (const rclcpp::exceptions::RCLErrorBase &error) {
      return error.ret == RCL_RET_TIMEOUT ? RMWBENCH_TIMEOUT : RMWBENCH_FAILED;
    }
  }

  uint32_t matched() const override {
#ifdef RMWBENCH_COUNTS_CLIENTS
    // Both: a service whose reply reader is not yet matched would answer into the void.
    return client_->service_is_ready() ? static_cast<uint32_t>(receiving_.node->count_services(client_->get_service_name())) : 0;
#else
    return client_->service_is_ready() ? 1 : 0;
#endif
  }

  // rcl keeps two endpoints behind a client and tells only what they were asked for on newer distributions.
  void granted(rmwbench_granted &granted) const override {
#ifdef RMWBENCH_COUNTS_CLIENTS
    tell_qos(client_->get_request_publisher_actual_qos(), granted);
#else
    tell_qos(asked_, granted);
#endif
    receiving_.granted(granted);
  }

  void account(const rmwbench_account &account) const override { inbox_->account(account); }

 private:
  bool take() {
    const auto header = client_->create_request_header();
    const auto response = client_->create_response();
    if (!client_->take_type_erased_response(response.get(), *header)) return false;
    loop_stamps().taken_ns = rmwbench_now_ns();
    client_->handle_response(header, response);
    return true;
  }

  Receiving receiving_;
  std::shared_ptr<Inbox> inbox_;
  const rclcpp::QoS asked_;
  rclcpp::Client<Call>::SharedPtr client_;
  const Source *source_ = nullptr;
};

class Service final : public rmwbench_service {
 public:
  Service(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_handler &handler)
      : receiving_(node, config), requests_(std::make_shared<Requests>(handler)), asked_(asked_qos(config)) {
    check_service_type(config);
    // The form that answers by itself: the reply leaves within the handler's call, as the harness stamps it.
    const auto handle = [requests = requests_](const std::shared_ptr<rclcpp::Service<Call>> service, const std::shared_ptr<rmw_request_id_t> id,
                                               const std::shared_ptr<Call::Request> request) {
      requests->arrive(request->data.data(), request->data.size(), [&](const uint8_t *payload, size_t bytes) {
        Call::Response response;
        response.data.assign(payload, payload + bytes);
        service->send_response(*id, response);
        return RMWBENCH_OK;
      });
    };
    service_ = receiving_.node->create_service<Call>(config.topic, handle, RMWBENCH_SERVICE_QOS(asked_), receiving_.group);
    if (receiving_.loop != nullptr) {
      Source source;
      source.service = service_;
      source.take = [this] { return take(); };
      source_ = receiving_.loop->add(std::move(source));
    }
  }

  ~Service() override {
    requests_->close();
    if (source_ != nullptr) receiving_.loop->remove(source_);
    const std::weak_ptr<void> object = service_;
    service_.reset();
    receiving_.released(object);
  }

  uint32_t matched() const override {
#ifdef RMWBENCH_COUNTS_CLIENTS
    return static_cast<uint32_t>(receiving_.node->count_clients(service_->get_service_name()));
#else
    // Humble counts no clients: ask each node for those it has.
    uint32_t clients = 0;
    const auto graph = receiving_.node->get_node_graph_interface();
    for (const auto &[name, space] : graph->get_node_names_and_namespaces()) {
      try {
        clients += static_cast<uint32_t>(graph->get_client_names_and_types_by_node(name, space).count(service_->get_service_name()));
      } catch (const std::exception &) {  // the node left between the two questions
      }
    }
    return clients;
#endif
  }

  void granted(rmwbench_granted &granted) const override {
#ifdef RMWBENCH_COUNTS_CLIENTS
    tell_qos(service_->get_response_publisher_actual_qos(), granted);
#else
    tell_qos(asked_, granted);
#endif
    receiving_.granted(granted);
  }

 private:
  bool take() {
    const auto header = service_->create_request_header();
    const auto request = service_->create_request();
    if (!service_->take_type_erased_request(request.get(), *header)) return false;
    loop_stamps().taken_ns = rmwbench_now_ns();
    service_->handle_request(header, request);
    return true;
  }

  Receiving receiving_;
  std::shared_ptr<Requests> requests_;
  const rclcpp::QoS asked_;
  rclcpp::Service<Call>::SharedPtr service_;
  const Source *source_ = nullptr;
};

}  // namespace

void check_service_type(const rmwbench_endpoint_config &config) {
  const std::string type = config.type.ros_type;
  if (type != "rmwbench_msgs/srv/Bytes_Request") {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
                "type " + type + " is not compiled into this worker; services have rmwbench_msgs/srv/Bytes"};
  }
}

rmwbench_client *make_client(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_sink &sink) {
  return new ServiceClient(node, config, sink);
}

rmwbench_service *make_service(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_handler &handler) {
  return new Service(node, config, handler);
}

}  // namespace rmwbench
