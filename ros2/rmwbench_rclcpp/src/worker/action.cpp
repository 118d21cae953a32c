#include "action.hpp"

#include <rmwbench_fault.hpp>

#include "actions/ends.hpp"
#include "beside.hpp"
#include "inbox.hpp"
#include "publish_mode.hpp"
#include "qos.hpp"
#include "requests.hpp"
#include "service.hpp"

namespace rmwbench {
namespace {

const ActionLibrary &library() {
  constexpr char file[] = "librmwbench_rclcpp_actions.so";
  static std::string why;
  static const auto *const found =
      static_cast<const ActionLibrary *>(beside(file, "rmwbench_rclcpp_actions", why));
  if (found == nullptr) throw Fault{RMWBENCH_ERROR_FAILED, file, why};
  return *found;
}

ActionName named(const Receiving &receiving, const rmwbench_endpoint_config &config) {
  check_service_type(config);
  return {receiving.node, receiving.group, config.topic, asked_qos(config)};
}

// rclcpp_action gives no access to its services and topics: the requested QoS is reported.
void tell(const rclcpp::QoS &asked, const Receiving &receiving, rmwbench_granted &granted) {
  tell_qos(asked, granted);
  receiving.granted(granted);
  granted.note(granted.context,
               "call: an action; the goal is sent and accepted, then its result is asked for and "
               "sent, without feedback. "
               "The QoS is as asked, rclcpp_action tells none");
}

class GoalClient final : public rmwbench_client {
 public:
  GoalClient(rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_sink &sink)
      : receiving_(node, config),
        inbox_(std::make_shared<Inbox>(sink, config.endpoint)),
        action_(named(receiving_, config)),
        mode_(publish_mode_of_client(node.session.settings, config.publish_mode,
                                     endpoint_name(config.endpoint))) {
    client_ =
        library().make_client(action_, [inbox = inbox_](const uint8_t *payload, size_t bytes) {
          inbox->arrive(rmwbench_now_ns(), payload, bytes, false, false);
        });
  }

  ~GoalClient() override {
    inbox_->close();
    const std::weak_ptr<void> object = client_->held_object();
    client_.reset();
    receiving_.released(object);
  }

  rmwbench_status request(const uint8_t *payload, size_t bytes) override {
    client_->send(payload, bytes);
    return RMWBENCH_OK;
  }

  uint32_t matched() const override { return client_->ready() ? 1 : 0; }
  void granted(rmwbench_granted &granted) const override {
    tell(action_.qos, receiving_, granted);
    granted.publish_mode = mode_.mode;
    granted.note(granted.context, mode_.note.c_str());
  }
  void account(const rmwbench_account &account) const override {
    inbox_->account(account);
    client_->account(account);
  }

 private:
  Receiving receiving_;
  std::shared_ptr<Inbox> inbox_;
  const ActionName action_;
  const PublishModeFound mode_;
  std::unique_ptr<ActionClient> client_;
};

// The library of actions makes the message of the result.
class Result final : public Answer {
 public:
  explicit Result(const Succeed &succeed) : succeed_(succeed) {}
  rmwbench_status send(const uint8_t *payload, size_t bytes) override {
    return succeed_(payload, bytes);
  }

 private:
  const Succeed &succeed_;
};

class GoalServer final : public rmwbench_service {
 public:
  GoalServer(rmwbench_node &node, const rmwbench_endpoint_config &config,
             const rmwbench_handler &handler)
      : receiving_(node, config),
        requests_(std::make_shared<Requests>(handler)),
        action_(named(receiving_, config)) {
    server_ = library().make_server(
        action_,
        [requests = requests_](const uint8_t *payload, size_t bytes, const Succeed &succeed) {
          Result result(succeed);
          requests->arrive(payload, bytes, result);
        });
  }

  ~GoalServer() override {
    requests_->close();
    const std::weak_ptr<void> object = server_->held_object();
    server_.reset();
    receiving_.released(object);
  }

  uint32_t matched() const override { return clients_of(*receiving_.node, goals()); }
  void granted(rmwbench_granted &granted) const override { tell(action_.qos, receiving_, granted); }

 private:
  // The service to which an action's goals go, with its name from ROS 2's design of actions.
  std::string goals() const {
    return receiving_.node->get_node_services_interface()->resolve_service_name(
        action_.name + "/_action/send_goal");
  }

  Receiving receiving_;
  std::shared_ptr<Requests> requests_;
  const ActionName action_;
  std::unique_ptr<ActionServer> server_;
};

}  // namespace

rmwbench_client *make_action_client(rmwbench_node &node, const rmwbench_endpoint_config &config,
                                    const rmwbench_sink &sink) {
  return new GoalClient(node, config, sink);
}

rmwbench_service *make_action_server(rmwbench_node &node, const rmwbench_endpoint_config &config,
                                     const rmwbench_handler &handler) {
  return new GoalServer(node, config, handler);
}

}  // namespace rmwbench
