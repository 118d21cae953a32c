#include <atomic>
#include <cstdint>
#include <memory>

#include <rclcpp_action/rclcpp_action.hpp>
#include <rmwbench_msgs/action/bytes.hpp>

#include "actions/ends.hpp"

namespace rmwbench {
namespace {

using Action = rmwbench_msgs::action::Bytes;
using Handle = rclcpp_action::ClientGoalHandle<Action>;

// The outcomes of a client's goals. The goals' callbacks hold this object: an executor may still
// run one after the client was destroyed.
struct Outcomes {
  explicit Outcomes(const OnResult &called) : on_result(called) {}

  const OnResult on_result;
  std::atomic<int64_t> rejected{0};
  std::atomic<int64_t> not_succeeded{0};  // canceled, aborted, or of no known state
};

class Client final : public ActionClient {
 public:
  Client(const ActionName &action, const OnResult &on_result)
      : outcomes_(std::make_shared<Outcomes>(on_result)) {
    rcl_action_client_options_t options = rcl_action_client_get_default_options();
    options.goal_service_qos = options.result_service_qos = action.qos.get_rmw_qos_profile();
    client_ = rclcpp_action::create_client<Action>(action.node, action.name, action.group, options);
    // A rejected goal has no handle.
    sending_.goal_response_callback = [outcomes = outcomes_](const Handle::SharedPtr &handle) {
      if (handle == nullptr) outcomes->rejected.fetch_add(1, std::memory_order_relaxed);
    };
    sending_.result_callback = [outcomes = outcomes_](const Handle::WrappedResult &result) {
      if (result.code == rclcpp_action::ResultCode::SUCCEEDED)
        outcomes->on_result(result.result->data.data(), result.result->data.size());
      else
        outcomes->not_succeeded.fetch_add(1, std::memory_order_relaxed);
    };
  }

  void send(const uint8_t *payload, size_t bytes) override {
    Action::Goal goal;
    goal.data.assign(payload, payload + bytes);
    client_->async_send_goal(goal, sending_);
  }

  bool ready() const override { return client_->action_server_is_ready(); }
  std::weak_ptr<void> held_object() const override { return client_; }

  // Both counters are reported from 0 on, because the client hears of each such goal.
  void account(const rmwbench_account &account) const override {
    account.counter(account.context, "goals_rejected",
                    outcomes_->rejected.load(std::memory_order_relaxed));
    account.counter(account.context, "goals_not_succeeded",
                    outcomes_->not_succeeded.load(std::memory_order_relaxed));
  }

 private:
  const std::shared_ptr<Outcomes> outcomes_;
  rclcpp_action::Client<Action>::SharedPtr client_;
  rclcpp_action::Client<Action>::SendGoalOptions sending_;
};

class Server final : public ActionServer {
 public:
  Server(const ActionName &action, const OnGoal &on_goal) {
    using Goal = rclcpp_action::ServerGoalHandle<Action>;
    rcl_action_server_options_t options = rcl_action_server_get_default_options();
    options.goal_service_qos = options.result_service_qos = action.qos.get_rmw_qos_profile();
    const auto accept = [](const rclcpp_action::GoalUUID &, std::shared_ptr<const Action::Goal>) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    };
    const auto cancel = [](std::shared_ptr<Goal>) { return rclcpp_action::CancelResponse::REJECT; };
    const auto execute = [on_goal](std::shared_ptr<Goal> goal) {
      const auto content = goal->get_goal();
      on_goal(content->data.data(), content->data.size(),
              [&goal](const uint8_t *payload, size_t bytes) {
                auto result = std::make_shared<Action::Result>();
                result->data.assign(payload, payload + bytes);
                goal->succeed(result);
                return RMWBENCH_OK;
              });
    };
    server_ = rclcpp_action::create_server<Action>(action.node, action.name, accept, cancel,
                                                   execute, options, action.group);
  }

  std::weak_ptr<void> held_object() const override { return server_; }

 private:
  rclcpp_action::Server<Action>::SharedPtr server_;
};

std::unique_ptr<ActionClient> make_client(const ActionName &action, const OnResult &on_result) {
  return std::make_unique<Client>(action, on_result);
}

std::unique_ptr<ActionServer> make_server(const ActionName &action, const OnGoal &on_goal) {
  return std::make_unique<Server>(action, on_goal);
}

}  // namespace
}  // namespace rmwbench

extern "C" __attribute__((visibility("default")))
const rmwbench::ActionLibrary rmwbench_rclcpp_actions = {
    rmwbench::make_client,
    rmwbench::make_server,
};
