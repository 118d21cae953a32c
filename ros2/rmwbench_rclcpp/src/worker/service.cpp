// Requests and replies over rmwbench_msgs/srv/Bytes, or as the setting of a node's parameter: a
// client that never waits, and a service that answers within its callback.

#include "service.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <rcl/service.h>

#include <rcl_interfaces/srv/set_parameters_atomically.hpp>
#include <rmwbench_msgs/srv/bytes.hpp>

#include <rmwbench_fault.hpp>

#include "executor_loop.hpp"
#include "inbox.hpp"
#include "publish_mode.hpp"
#include "qos.hpp"
#include "rclcpp_version.hpp"
#include "requests.hpp"

// Humble takes rmw's profile here; its successors take rclcpp's QoS, and report the actual one.
#if RCLCPP_VERSION_GTE(18, 0, 0)
#define RMWBENCH_SERVICE_QOS(qos) (qos)
#define RMWBENCH_TELLS_SERVICE_QOS 1
#else
#define RMWBENCH_SERVICE_QOS(qos) (qos).get_rmw_qos_profile()
#endif
// Clients and services are counted since Jazzy (rclcpp's changelog, 23.2.0).
#if RCLCPP_VERSION_GTE(23, 2, 0)
#define RMWBENCH_COUNTS_CLIENTS 1
#endif

namespace rmwbench {
namespace {

// A payload that was read from a message: it is in the message itself, or in `room`.
struct Payload {
  const uint8_t *data;
  size_t bytes;
};

// How the payload of a call is written into a request and a response, or is put into one, and how
// it is read from them.
struct BytesCall {
  using Type = rmwbench_msgs::srv::Bytes;

  explicit BytesCall(rclcpp::Node &) {}

  static uint8_t *room(Type::Request &request, size_t bytes) {
    request.data.resize(bytes);
    return request.data.data();
  }
  static Payload of(const Type::Request &request) {
    return {request.data.data(), request.data.size()};
  }
  static uint8_t *room(Type::Response &response, size_t bytes) {
    response.data.resize(bytes);
    return response.data.data();
  }
  void answer(const uint8_t *payload, size_t bytes, const Type::Request &,
              Type::Response &response) const {
    response.data.assign(payload, payload + bytes);
  }
  static Payload of(const Type::Response &response, std::vector<uint8_t> &) {
    return {response.data.data(), response.data.size()};
  }
  static void tell(rmwbench_granted &) {}
};

// Sets a parameter of the server's node as rclcpp's own service for that does: the value is checked
// against its description, stored, and published as an event. The answer of that service has a
// fixed text, so this service exists beside it and does the same before it answers. The answer is
// text, `reason`; a payload takes two letters a byte.
struct ParameterCall {
  using Type = rcl_interfaces::srv::SetParametersAtomically;
  static constexpr char NAME[] = "payload";
  static constexpr char LETTERS[] = "abcdefghijklmnop";

  explicit ParameterCall(rclcpp::Node &node_in) : node(node_in) {
    if (!node.has_parameter(NAME)) node.declare_parameter(NAME, std::vector<uint8_t>{});
  }

  static uint8_t *room(Type::Request &request, size_t bytes) {
    request.parameters.resize(1);
    request.parameters[0].name = NAME;
    request.parameters[0].value.type = rcl_interfaces::msg::ParameterType::PARAMETER_BYTE_ARRAY;
    auto &value = request.parameters[0].value.byte_array_value;
    value.resize(bytes);
    return value.data();
  }

  static Payload of(const Type::Request &request) {
    if (request.parameters.size() != 1) return {nullptr, 0};
    const auto &value = request.parameters[0].value.byte_array_value;
    return {value.data(), value.size()};
  }

  // The answer is text.
  static uint8_t *room(Type::Response &, size_t) { return nullptr; }

  void answer(const uint8_t *payload, size_t bytes, const Type::Request &request,
              Type::Response &response) const {
    response.result = node.set_parameters_atomically(
        {rclcpp::Parameter::from_parameter_msg(request.parameters.at(0))});
    std::string &text = response.result.reason;
    text.resize(2 * bytes);
    for (size_t i = 0; i < bytes; ++i) {
      text[2 * i] = LETTERS[payload[i] >> 4];
      text[2 * i + 1] = LETTERS[payload[i] & 15];
    }
  }

  static Payload of(const Type::Response &response, std::vector<uint8_t> &room) {
    const std::string &text = response.result.reason;
    if (!response.result.successful) return {nullptr, 0};
    room.resize(text.size() / 2);
    for (size_t i = 0; i < room.size(); ++i)
      room[i] =
          static_cast<uint8_t>((text[2 * i] - LETTERS[0]) << 4 | (text[2 * i + 1] - LETTERS[0]));
    return {room.data(), room.size()};
  }

  static void tell(rmwbench_granted &granted) {
    granted.note(granted.context,
                 "call: a parameter of the server's node is set and its event published; the reply "
                 "is the answer's text");
  }

  rclcpp::Node &node;
};

template <class Call>
class ServiceClient final : public rmwbench_client {
 public:
  ServiceClient(rmwbench_node &node, const rmwbench_endpoint_config &config,
                const rmwbench_sink &sink)
      : receiving_(node, config),
        inbox_(std::make_shared<Inbox>(sink, config.endpoint)),
        asked_(asked_qos(config)),
        mode_(publish_mode_of_client(node.session.settings, config.publish_mode,
                                     endpoint_name(config.endpoint))) {
    check_service_type(config);
    client_ = receiving_.node->create_client<Type>(config.topic, RMWBENCH_SERVICE_QOS(asked_),
                                                   receiving_.group);
  }

  ~ServiceClient() override {
    inbox_->close();
    const std::weak_ptr<void> object = client_;
    client_.reset();
    receiving_.released(object);
  }

  // A client that sends several requests of one kind keeps one message and fills it again.
  uint8_t *message(size_t bytes) override {
    if (request_.use_count() != 1) request_ = std::make_shared<typename Type::Request>();
    room_ = Call::room(*request_, bytes);
    return room_;
  }

  rmwbench_status request(const uint8_t *payload, size_t bytes) override {
    if (payload != room_ || room_ == nullptr) std::copy_n(payload, bytes, message(bytes));
    try {
      client_->async_send_request(
          request_, [inbox = inbox_](typename rclcpp::Client<Type>::SharedFuture future) {
            const int64_t called_ns = rmwbench_now_ns();
            const auto reply = future.get();
            std::vector<uint8_t> room;
            const Payload found = Call::of(*reply, room);
            inbox->arrive(called_ns, found.data, found.bytes, false, false);
          });
      return RMWBENCH_OK;
    } catch (const rclcpp::exceptions::RCLErrorBase &error) {
      return error.ret == RCL_RET_TIMEOUT ? RMWBENCH_TIMEOUT : RMWBENCH_FAILED;
    }
  }

  uint32_t matched() const override {
#ifdef RMWBENCH_COUNTS_CLIENTS
    // Both are checked: the reply of a service whose reader is not yet matched would be lost.
    return client_->service_is_ready()
               ? static_cast<uint32_t>(receiving_.node->count_services(client_->get_service_name()))
               : 0;
#else
    return client_->service_is_ready() ? 1 : 0;
#endif
  }

  // rcl has two endpoints behind a client and reports only their requested QoS on newer
  // distributions.
  void granted(rmwbench_granted &granted) const override {
#ifdef RMWBENCH_TELLS_SERVICE_QOS
    tell_qos(client_->get_request_publisher_actual_qos(), granted);
#else
    tell_qos(asked_, granted);
#endif
    granted.publish_mode = mode_.mode;
    granted.note(granted.context, mode_.note.c_str());
    receiving_.granted(granted);
    Call::tell(granted);
  }

  void account(const rmwbench_account &account) const override { inbox_->account(account); }

 private:
  using Type = typename Call::Type;

  Receiving receiving_;
  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<typename Type::Request> request_;
  uint8_t *room_ = nullptr;
  const rclcpp::QoS asked_;
  const PublishModeFound mode_;
  typename rclcpp::Client<Type>::SharedPtr client_;
};

template <class Call>
class Service final : public rmwbench_service {
 public:
  Service(rmwbench_node &node, const rmwbench_endpoint_config &config,
          const rmwbench_handler &handler)
      : receiving_(node, config),
        requests_(std::make_shared<Requests>(handler)),
        asked_(asked_qos(config)) {
    check_service_type(config);
    // The form of callback that replies by itself: the reply is sent within the handler's call,
    // when the harness takes its stamp.
    const auto handle = [requests = requests_, call = Call(*receiving_.node)](
                            const std::shared_ptr<rclcpp::Service<Type>> service,
                            const std::shared_ptr<rmw_request_id_t> id,
                            const std::shared_ptr<typename Type::Request> request) {
      const Payload asked = Call::of(*request);
      Response response(call, *service->get_service_handle(), *id, *request);
      requests->arrive(asked.data, asked.bytes, response);
    };
    service_ = receiving_.node->create_service<Type>(
        config.topic, handle, RMWBENCH_SERVICE_QOS(asked_), receiving_.group);
  }

  ~Service() override {
    requests_->close();
    const std::weak_ptr<void> object = service_;
    service_.reset();
    receiving_.released(object);
  }

  uint32_t matched() const override {
    return clients_of(*receiving_.node, service_->get_service_name());
  }

  void granted(rmwbench_granted &granted) const override {
#ifdef RMWBENCH_TELLS_SERVICE_QOS
    tell_qos(service_->get_response_publisher_actual_qos(), granted);
#else
    tell_qos(asked_, granted);
#endif
    receiving_.granted(granted);
    Call::tell(granted);
  }

 private:
  using Type = typename Call::Type;

  // The reply goes through rcl: rclcpp's own call logs a time-out and returns as if the reply had
  // been sent.
  class Response final : public Answer {
   public:
    Response(const Call &call, rcl_service_t &service, rmw_request_id_t &id,
             const typename Type::Request &request)
        : call_(call), service_(service), id_(id), request_(request) {}

    uint8_t *message(size_t bytes) override {
      room_ = Call::room(message_, bytes);
      return room_;
    }

    rmwbench_status send(const uint8_t *payload, size_t bytes) override {
      if (payload != room_ || room_ == nullptr) call_.answer(payload, bytes, request_, message_);
      const rcl_ret_t sent = rcl_send_response(&service_, &id_, &message_);
      if (sent == RCL_RET_OK) return RMWBENCH_OK;
      rcl_reset_error();
      return sent == RCL_RET_TIMEOUT ? RMWBENCH_TIMEOUT : RMWBENCH_FAILED;
    }

   private:
    const Call &call_;
    rcl_service_t &service_;
    rmw_request_id_t &id_;
    const typename Type::Request &request_;
    typename Type::Response message_;
    uint8_t *room_ = nullptr;
  };

  Receiving receiving_;
  std::shared_ptr<Requests> requests_;
  const rclcpp::QoS asked_;
  typename rclcpp::Service<Type>::SharedPtr service_;
};

}  // namespace

uint32_t clients_of(rclcpp::Node &node, const std::string &service) {
#ifdef RMWBENCH_COUNTS_CLIENTS
  return static_cast<uint32_t>(node.count_clients(service));
#else
  // Asks each node for its clients, which counts a node once.
  uint32_t clients = 0;
  const auto graph = node.get_node_graph_interface();
  for (const auto &[name, space] : graph->get_node_names_and_namespaces()) {
    try {
      clients += static_cast<uint32_t>(
          graph->get_client_names_and_types_by_node(name, space).count(service));
    } catch (const std::exception &) {  // the node left between the two calls
    }
  }
  return clients;
#endif
}

void check_service_type(const rmwbench_endpoint_config &config) {
  const std::string type = config.type.ros_type;
  if (type != "rmwbench_msgs/srv/Bytes_Request") {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
                "type " + type +
                    " is not compiled into this worker; services have rmwbench_msgs/srv/Bytes"};
  }
}

rmwbench_client *make_client(rmwbench_node &node, const rmwbench_endpoint_config &config,
                             const rmwbench_sink &sink) {
  if (node.session.settings.calls == Calls::parameter)
    return new ServiceClient<ParameterCall>(node, config, sink);
  return new ServiceClient<BytesCall>(node, config, sink);
}

rmwbench_service *make_service(rmwbench_node &node, const rmwbench_endpoint_config &config,
                               const rmwbench_handler &handler) {
  if (node.session.settings.calls == Calls::parameter)
    return new Service<ParameterCall>(node, config, handler);
  return new Service<BytesCall>(node, config, handler);
}

}  // namespace rmwbench
