// A lifecycle node as rclcpp_lifecycle makes it, with its five services and its transition event.
// Its callbacks take the time that the suite sets, and succeed: a node whose callbacks take longer
// than the manager waits simulates one that hangs.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <rclcpp_lifecycle/lifecycle_node.hpp>

#include "lifecycle/role.hpp"

namespace rmwbench {
namespace {

using Return = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;

class TimedNode : public rclcpp_lifecycle::LifecycleNode {
 public:
  TimedNode(const std::string &name, const rclcpp::NodeOptions &options,
            const LifecycleTimes &times)
      : LifecycleNode(name, options), times_(times) {}

  Return on_configure(const rclcpp_lifecycle::State &) override {
    return after(times_.configure_ms);
  }
  Return on_activate(const rclcpp_lifecycle::State &state) override {
    LifecycleNode::on_activate(state);
    return after(times_.activate_ms);
  }

  void stop() { stop_.store(true); }

 private:
  // Sleeps in the executor's thread, as a driver does that waits for its device. It does not sleep
  // while the session closes.
  Return after(uint32_t milliseconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (!stop_.load() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(
          std::chrono::milliseconds(50), until - std::chrono::steady_clock::now()));
    }
    return Return::SUCCESS;
  }

  const LifecycleTimes times_;
  std::atomic<bool> stop_{false};
};

class LifecycleRole final : public Role {
 public:
  explicit LifecycleRole(std::shared_ptr<TimedNode> node) : node_(std::move(node)) {}
  void stop() override { node_->stop(); }
  rclcpp::node_interfaces::NodeBaseInterface::SharedPtr base() const override {
    return node_->get_node_base_interface();
  }

 private:
  const std::shared_ptr<TimedNode> node_;
};

}  // namespace

std::shared_ptr<Role> make_lifecycle_node(const std::string &name,
                                          const rclcpp::NodeOptions &options,
                                          const LifecycleTimes &times) {
  return std::make_shared<LifecycleRole>(std::make_shared<TimedNode>(name, options, times));
}

}  // namespace rmwbench
