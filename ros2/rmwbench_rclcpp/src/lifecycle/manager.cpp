// A manager of lifecycle nodes that starts its nodes as Nav2's nav2_lifecycle_manager does. It has
// two clients for each node; it waits for each node's service in the order of the list, then
// configures all nodes in order, then activates all in order, one at a time, and reads the node's
// state after each change.
//
// Two differences, so that the fate of each node is known. Nav2's manager waits for ever for a
// service that never comes, and ends at the first change that fails; this one waits for
// `service_timeout_ms`, skips that node and continues with the next.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <lifecycle_msgs/msg/state.hpp>
#include <lifecycle_msgs/msg/transition.hpp>
#include <lifecycle_msgs/srv/change_state.hpp>
#include <lifecycle_msgs/srv/get_state.hpp>

#include "lifecycle/role.hpp"

namespace rmwbench {
namespace {

using lifecycle_msgs::msg::State;
using lifecycle_msgs::msg::Transition;
using lifecycle_msgs::srv::ChangeState;
using lifecycle_msgs::srv::GetState;
using Clock = std::chrono::steady_clock;

// The time after which a wait checks whether the session is closing.
constexpr std::chrono::milliseconds LOOK(200);

struct Managed {
  std::string name;
  rclcpp::Client<ChangeState>::SharedPtr change_state;
  rclcpp::Client<GetState>::SharedPtr get_state;
  bool goes_on = true;
};

struct Step {
  int32_t number;
  uint8_t transition;
  uint8_t state;  // the node's state after the change
};
constexpr Step CONFIGURE{RMWBENCH_STEP_CONFIGURE, Transition::TRANSITION_CONFIGURE,
                         State::PRIMARY_STATE_INACTIVE};
constexpr Step ACTIVATE{RMWBENCH_STEP_ACTIVATE, Transition::TRANSITION_ACTIVATE,
                        State::PRIMARY_STATE_ACTIVE};

class Manager final : public Role {
 public:
  Manager(rclcpp::Node::SharedPtr node, const Manages &manages)
      : node_(std::move(node)), timeout_(manages.service_timeout_ms) {
    for (const auto &name : manages.nodes) nodes_.push_back({name, nullptr, nullptr});
    thread_ = std::thread([this] { run(); });
  }

  ~Manager() override {
    stop();
    thread_.join();
  }

  void stop() override { stop_.store(true); }

  rclcpp::node_interfaces::NodeBaseInterface::SharedPtr base() const override {
    return node_->get_node_base_interface();
  }

 private:
  void run() {
    for (auto &managed : nodes_) {
      run_step(managed, RMWBENCH_STEP_SERVICE, [&] {
        managed.change_state = node_->create_client<ChangeState>(managed.name + "/change_state");
        managed.get_state = node_->create_client<GetState>(managed.name + "/get_state");
        return is_there(*managed.get_state) ? RMWBENCH_STEP_DONE : RMWBENCH_STEP_TIMED_OUT;
      });
    }
    for (const Step &step : {CONFIGURE, ACTIVATE}) {
      for (auto &managed : nodes_)
        run_step(managed, step.number, [&] { return changed(managed, step); });
    }
  }

  // Runs the step and reports how it ended, unless the session closed meanwhile: then the step has
  // no end.
  template <class Do>
  void run_step(Managed &managed, int32_t step, Do act) {
    if (!managed.goes_on || stop_.load()) return;
    const int64_t asked_ns = rmwbench_now_ns();
    int32_t outcome = RMWBENCH_STEP_REFUSED;
    try {
      outcome = act();
    } catch (const std::exception &thrown) {
      RCLCPP_ERROR(node_->get_logger(), "%s: %s", managed.name.c_str(), thrown.what());
    }
    if (stop_.load()) return;
    rmwbench_step(managed.name.c_str(), step, outcome, asked_ns, rmwbench_now_ns());
    managed.goes_on = outcome == RMWBENCH_STEP_DONE;
  }

  int32_t changed(Managed &managed, const Step &step) {
    auto asked = std::make_shared<ChangeState::Request>();
    asked->transition.id = step.transition;
    const auto answer = call<ChangeState>(*managed.change_state, asked);
    if (!answer) return RMWBENCH_STEP_TIMED_OUT;
    if (!answer->success) return RMWBENCH_STEP_REFUSED;
    const auto state = call<GetState>(*managed.get_state, std::make_shared<GetState::Request>());
    if (!state) return RMWBENCH_STEP_TIMED_OUT;
    return state->current_state.id == step.state ? RMWBENCH_STEP_DONE : RMWBENCH_STEP_REFUSED;
  }

  bool is_there(rclcpp::ClientBase &client) const {
    return within([&](std::chrono::milliseconds span) { return client.wait_for_service(span); });
  }

  // Returns the response; NULL if the service or its answer did not come in time.
  template <class Service>
  typename Service::Response::SharedPtr call(rclcpp::Client<Service> &client,
                                             typename Service::Request::SharedPtr request) const {
    if (!is_there(client)) return nullptr;
    auto sent = client.async_send_request(std::move(request));
    if (within([&](std::chrono::milliseconds span) {
          return sent.future.wait_for(span) == std::future_status::ready;
        })) {
      return sent.future.get();
    }
    client.remove_pending_request(sent.request_id);
    return nullptr;
  }

  // Whether `wait` returned true within the time-out.
  template <class Wait>
  bool within(Wait wait) const {
    const auto deadline = Clock::now() + timeout_;
    while (!stop_.load()) {
      const auto rest =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (wait(std::max(std::min(rest, LOOK), std::chrono::milliseconds(0)))) return true;
      if (Clock::now() >= deadline) return false;
    }
    return false;
  }

  const rclcpp::Node::SharedPtr node_;
  const std::chrono::milliseconds timeout_;
  std::vector<Managed> nodes_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Role> make_manager(const rclcpp::Node::SharedPtr &node, const Manages &manages) {
  return std::make_shared<Manager>(node, manages);
}

}  // namespace rmwbench
