// Requests and replies over rmwbench_msgs/srv/Bytes: a client that never waits, and a service that answers from within its callback.

#include "service.hpp"

#include <rmwbench_msgs/srv/bytes.hpp>

#include "executor_loop.hpp"
#include "fault.hpp"
#include "inbox.hpp"
#include "qos.hpp"
#include "take_loop.hpp"

#if __has_include(<rclcpp/version.h>)
#include <rclcpp/version.h>
#endif

namespace rmwbench {
namespace {

using Call = rmwbench_msgs::srv::Bytes;

void check_type(const rmwbench_endpoint_config &config) {
  const std::string type = config.type.ros_type;
  if (type != "rmwbench_msgs/srv/Bytes_Request") {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
                "type " + type + " is not compiled into this worker; services have rmwbench_msgs/srv/Bytes"};
  }
}

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

}  // namespace
}  // namespace rmwbench

using namespace rmwbench;

struct rmwbench_client {
  rmwbench_client(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_sink &sink)
      : receiving(node, config), inbox(std::make_shared<Inbox>(sink, config.endpoint)) {
    check_type(config);
    const auto qos = asked_qos(config);
    client = receiving.node->create_client<Call>(config.topic, RMWBENCH_SERVICE_QOS(qos), receiving.group);
    asked = qos;
    if (receiving.loop != nullptr) {
      Source source;
      source.client = client;
      source.take = [this] { return take(); };
      source_ = receiving.loop->add(std::move(source));
    }
  }

  ~rmwbench_client() {
    inbox->close();
    if (source_ != nullptr) receiving.loop->remove(source_);
    const std::weak_ptr<void> object = client;
    client.reset();
    receiving.released(object);
  }

  rmwbench_status request(const uint8_t *payload, size_t bytes) {
    auto message = std::make_shared<Call::Request>();
    message->data.assign(payload, payload + bytes);
    try {
      client->async_send_request(message, [inbox = inbox](rclcpp::Client<Call>::SharedFuture future) {
        const auto reply = future.get();
        inbox->arrive(reply->data.data(), reply->data.size(), false, false);
      });
      return RMWBENCH_OK;
    } catch (const rclcpp::exceptions::RCLErrorBase &error) {
      return error.ret == RCL_RET_TIMEOUT ? RMWBENCH_TIMEOUT : RMWBENCH_FAILED;
    }
  }

  bool take() {
    const auto header = client->create_request_header();
    const auto response = client->create_response();
    if (!client->take_type_erased_response(response.get(), *header)) return false;
    loop_stamps().taken_ns = rmwbench_now_ns();
    client->handle_response(header, response);
    return true;
  }

  uint32_t matched() const {
#ifdef RMWBENCH_COUNTS_CLIENTS
    // Both: a service whose reply reader is not yet matched would answer into the void.
    return client->service_is_ready() ? static_cast<uint32_t>(receiving.node->count_services(client->get_service_name())) : 0;
#else
    return client->service_is_ready() ? 1 : 0;
#endif
  }

  Receiving receiving;
  std::shared_ptr<Inbox> inbox;
  rclcpp::Client<Call>::SharedPtr client;
  rclcpp::QoS asked{1};

 private:
  const Source *source_ = nullptr;
};

struct rmwbench_service {
  rmwbench_service(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_handler &handler)
      : receiving(node, config), gate(std::make_shared<Requests>(handler)) {
    check_type(config);
    const auto qos = asked_qos(config);
    // The form that answers by itself: the reply leaves within the handler's call, as the harness stamps it.
    const auto handle = [gate = gate](const std::shared_ptr<rclcpp::Service<Call>> to, const std::shared_ptr<rmw_request_id_t> id,
                                      const std::shared_ptr<Call::Request> request) { gate->handle(*to, *id, *request); };
    service = receiving.node->create_service<Call>(config.topic, handle, RMWBENCH_SERVICE_QOS(qos), receiving.group);
    asked = qos;
    if (receiving.loop != nullptr) {
      Source source;
      source.service = service;
      source.take = [this] { return take(); };
      source_ = receiving.loop->add(std::move(source));
    }
  }

  ~rmwbench_service() {
    gate->open.close();
    if (source_ != nullptr) receiving.loop->remove(source_);
    const std::weak_ptr<void> object = service;
    service.reset();
    receiving.released(object);
  }

  bool take() {
    const auto header = service->create_request_header();
    const auto request = service->create_request();
    if (!service->take_type_erased_request(request.get(), *header)) return false;
    loop_stamps().taken_ns = rmwbench_now_ns();
    service->handle_request(header, request);
    return true;
  }

  uint32_t matched() const {
#ifdef RMWBENCH_COUNTS_CLIENTS
    return static_cast<uint32_t>(receiving.node->count_clients(service->get_service_name()));
#else
    // Humble counts no clients: ask each node for those it has.
    uint32_t clients = 0;
    const auto graph = receiving.node->get_node_graph_interface();
    for (const auto &[name, space] : graph->get_node_names_and_namespaces()) {
      try {
        clients += static_cast<uint32_t>(graph->get_client_names_and_types_by_node(name, space).count(service->get_service_name()));
      } catch (const std::exception &) {  // the node left between the two questions
      }
    }
    return clients;
#endif
  }

  struct Requests {
    explicit Requests(const rmwbench_handler &handler_in) : handler(handler_in) {}

    void handle(rclcpp::Service<Call> &service, rmw_request_id_t &id, const Call::Request &request) {
      const LoopStamps stamps = loop_stamps();
      const int64_t taken_ns = stamps.taken_ns != 0 ? stamps.taken_ns : rmwbench_now_ns();
      const rmwbench::Gate::Pass pass(open);
      if (!pass) return;
      const uint8_t nothing = 0;
      const rmwbench_delivery delivery{stamps.notified_ns != 0 ? stamps.notified_ns : taken_ns, taken_ns,
                                       request.data.empty() ? &nothing : request.data.data(), request.data.size(), 0};
      struct Answer {
        rclcpp::Service<Call> &service;
        rmw_request_id_t &id;
      } answer{service, id};
      const rmwbench_reply reply{&answer, [](void *context, const uint8_t *payload, size_t bytes) {
                                   auto &to = *static_cast<Answer *>(context);
                                   Call::Response response;
                                   response.data.assign(payload, payload + bytes);
                                   try {
                                     to.service.send_response(to.id, response);
                                     return RMWBENCH_OK;
                                   } catch (const rclcpp::exceptions::RCLErrorBase &error) {
                                     return error.ret == RCL_RET_TIMEOUT ? RMWBENCH_TIMEOUT : RMWBENCH_FAILED;
                                   } catch (...) {
                                     return RMWBENCH_FAILED;
                                   }
                                 }};
      handler.handle(handler.context, &delivery, &reply);
    }

    const rmwbench_handler handler;
    rmwbench::Gate open;
  };

  Receiving receiving;
  std::shared_ptr<Requests> gate;
  rclcpp::Service<Call>::SharedPtr service;
  rclcpp::QoS asked{1};

 private:
  const Source *source_ = nullptr;
};

namespace rmwbench {
namespace {

// rcl keeps two endpoints behind each of the two and tells only what they were asked for on newer distributions.
void tell_asked(const rclcpp::QoS &asked, const Receiving &receiving, rmwbench_granted &granted) {
  tell_qos(asked, granted);
  receiving.granted(granted);
}

}  // namespace

rmwbench_client *make_client(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_sink &sink) {
  return new rmwbench_client(node, config, sink);
}
void destroy(rmwbench_client *client) { delete client; }
rmwbench_status request(rmwbench_client &client, const uint8_t *payload, size_t bytes) { return client.request(payload, bytes); }
uint32_t matched(const rmwbench_client &client) { return client.matched(); }
void granted(const rmwbench_client &client, rmwbench_granted &granted) {
#ifdef RMWBENCH_COUNTS_CLIENTS
  tell_asked(client.client->get_request_publisher_actual_qos(), client.receiving, granted);
#else
  tell_asked(client.asked, client.receiving, granted);
#endif
}
void account(const rmwbench_client &client, const rmwbench_account &account) { client.inbox->account(account); }

rmwbench_service *make_service(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_handler &handler) {
  return new rmwbench_service(node, config, handler);
}
void destroy(rmwbench_service *service) { delete service; }
uint32_t matched(const rmwbench_service &service) { return service.matched(); }
void granted(const rmwbench_service &service, rmwbench_granted &granted) {
#ifdef RMWBENCH_COUNTS_CLIENTS
  tell_asked(service.service->get_response_publisher_actual_qos(), service.receiving, granted);
#else
  tell_asked(service.asked, service.receiving, granted);
#endif
}

}  // namespace rmwbench
