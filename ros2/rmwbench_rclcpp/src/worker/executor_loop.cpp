#include "executor_loop.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>
#include <vector>

#include <rmwbench_fault.hpp>

#include "executor_classes.hpp"
#include "rclcpp_version.hpp"

#if RMWBENCH_HAS_EVENTS_EXECUTOR
#include <rclcpp/experimental/executors/events_executor/events_executor.hpp>
#endif
#if RMWBENCH_HAS_EVENTS_CBG_EXECUTOR
#include <rclcpp/executors/events_cbg_executor/events_cbg_executor.hpp>
#endif
#if RMWBENCH_HAS_STATIC_EXECUTOR
#include <rclcpp/executors/static_single_threaded_executor.hpp>
#endif

namespace rmwbench {
namespace {

// How long an executor may take to release an object, and how often that is checked.
constexpr auto PATIENCE = std::chrono::seconds(2);
constexpr auto LOOK = std::chrono::microseconds(200);

struct NamedExecutor {
  std::shared_ptr<rclcpp::Executor> executor;
  std::string name;
  std::function<bool()> is_spinning;
};

// The function of the executor's own class is called, since a class with its own flag hides the
// base's.
template <class Kind>
NamedExecutor named(const std::shared_ptr<Kind> &executor, const std::string &name) {
  return {executor, name, [kind = executor.get()] { return kind->is_spinning(); }};
}

#if RMWBENCH_HAS_EVENTS_EXECUTOR
// Since Lyrical the options are the first parameter, before that the last.
template <class Events>
std::shared_ptr<Events> make_events(const rclcpp::ExecutorOptions &options) {
  if constexpr (std::is_constructible_v<Events, const rclcpp::ExecutorOptions &>) {
    return std::make_shared<Events>(options);
  } else {
    return std::make_shared<Events>(
        std::make_unique<rclcpp::experimental::executors::SimpleEventsQueue>(), false, options);
  }
}
#endif

template <class Threaded>
NamedExecutor make_threaded(const char *name, const Settings &settings,
                            const rclcpp::ExecutorOptions &options) {
  auto executor = std::make_shared<Threaded>(options, settings.threads);
  const size_t threads = executor->get_number_of_threads();
  return named(executor, std::string(name) + ", " + std::to_string(threads) + " threads");
}

NamedExecutor make(const Settings &settings, const rclcpp::ExecutorOptions &options) {
  switch (settings.executor) {
    case Executor::multi_threaded:
      return make_threaded<rclcpp::executors::MultiThreadedExecutor>("MultiThreadedExecutor",
                                                                     settings, options);
    case Executor::events_cbg:
#if RMWBENCH_HAS_EVENTS_CBG_EXECUTOR
      return make_threaded<rclcpp::executors::EventsCBGExecutor>("EventsCBGExecutor", settings,
                                                                 options);
#else
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode executor",
                  "events_cbg: this rclcpp has no EventsCBGExecutor (it came with Lyrical)"};
#endif
    case Executor::events:
#if RMWBENCH_HAS_EVENTS_EXECUTOR
      return named(make_events<rclcpp::experimental::executors::EventsExecutor>(options),
                   "EventsExecutor");
#else
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode executor",
                  "events: this rclcpp has no EventsExecutor (it came with Iron)"};
#endif
    case Executor::static_single_threaded:
#if RMWBENCH_HAS_STATIC_EXECUTOR
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
      return named(std::make_shared<rclcpp::executors::StaticSingleThreadedExecutor>(options),
                   "StaticSingleThreadedExecutor");
#pragma GCC diagnostic pop
#else
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode executor",
                  "static: this rclcpp has no StaticSingleThreadedExecutor any more"};
#endif
    default:
      return named(std::make_shared<rclcpp::executors::SingleThreadedExecutor>(options),
                   "SingleThreadedExecutor");
  }
}

// Makes the executor look again at the objects for which it waits.
void wake(rclcpp::node_interfaces::NodeBaseInterface &node) {
#if RCLCPP_VERSION_GTE(28, 1, 0)  // since Jazzy; Lyrical no longer gives the condition
  node.trigger_notify_guard_condition();
#else
  node.get_notify_guard_condition().trigger();
#endif
}

}  // namespace

ExecutorLoop::ExecutorLoop(const Settings &settings, const rclcpp::Context::SharedPtr &context) {
  rclcpp::ExecutorOptions options;
  options.context = context;
  NamedExecutor named_executor = make(settings, options);
  executor_ = std::move(named_executor.executor);
  name_ = std::move(named_executor.name);
  is_spinning_ = std::move(named_executor.is_spinning);
  thread_ = std::thread([this] {
    executor_->spin();
    returned_.store(true);
  });
}

ExecutorLoop::~ExecutorLoop() {
  // A cancel() before spin() began would have no effect.
  while (!is_spinning_() && !returned_.load())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  executor_->cancel();
  thread_.join();
}

void ExecutorLoop::add(const rclcpp::node_interfaces::NodeBaseInterface::SharedPtr &node) {
  executor_->add_node(node);
}

void ExecutorLoop::remove(const rclcpp::node_interfaces::NodeBaseInterface::SharedPtr &node) {
  executor_->remove_node(node);
}

void ExecutorLoop::release(const std::weak_ptr<void> &object, rclcpp::Node &node) {
  // No delivery is under way any more, and none begins: the object's gate is closed. This only
  // frees its memory in time.
  const auto deadline = std::chrono::steady_clock::now() + PATIENCE;
  while (!object.expired() && std::chrono::steady_clock::now() < deadline) {
    wake(*node.get_node_base_interface());
    std::this_thread::sleep_for(LOOK);
  }
}

bool ExecutorLoop::left(rclcpp::node_interfaces::NodeBaseInterface &node) {
  std::vector<rclcpp::ServiceBase::WeakPtr> services;
  node.for_each_callback_group([&](const rclcpp::CallbackGroup::SharedPtr &group) {
    group->find_service_ptrs_if([&](const rclcpp::ServiceBase::SharedPtr &service) {
      services.push_back(service);
      return false;
    });
  });
  // The node holds each service; an executor that waits for it, or runs it, also holds it.
  const auto is_held = [](const auto &service) { return service.use_count() > 1; };
  const auto deadline = std::chrono::steady_clock::now() + PATIENCE;
  while (std::any_of(services.begin(), services.end(), is_held)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(LOOK);
  }
  return true;
}

}  // namespace rmwbench
