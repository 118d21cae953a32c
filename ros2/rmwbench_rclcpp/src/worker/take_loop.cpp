#include "take_loop.hpp"

#include <algorithm>

#include <rmwbench_worker.h>

#include "inbox.hpp"

namespace rmwbench {
namespace {

bool took(const Source &source) {
  try {
    return source.take();
  } catch (const rclcpp::exceptions::RCLError &error) {
    // Once: a loop that spins would fill the log.
    RCLCPP_ERROR_ONCE(rclcpp::get_logger("rmwbench"), "taking failed: %s", error.what());
    return false;
  }
}

}  // namespace

TakeLoop::TakeLoop(const rclcpp::Context::SharedPtr &context, bool poll)
    : context_(context),
      poll_(poll),
      wake_(std::make_shared<rclcpp::GuardCondition>(context)),
      thread_([this] { run(); }) {}

TakeLoop::~TakeLoop() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    stop_ = true;
    version_.fetch_add(1);
    wake_->trigger();
  }
  thread_.join();
}

const Source *TakeLoop::add(Source source) {
  std::unique_lock<std::mutex> lock(mutex_);
  sources_.push_back(std::make_shared<const Source>(std::move(source)));
  const Source *added = sources_.back().get();
  changed(lock);
  return added;
}

void TakeLoop::remove(const Source *source) {
  std::unique_lock<std::mutex> lock(mutex_);
  sources_.erase(std::remove_if(sources_.begin(), sources_.end(),
                                [&](const auto &held) { return held.get() == source; }),
                 sources_.end());
  changed(lock);
}

void TakeLoop::changed(std::unique_lock<std::mutex> &lock) {
  const uint64_t version = version_.fetch_add(1) + 1;
  wake_->trigger();
  seen_.wait(lock, [&] { return acknowledged_ >= version; });
}

void TakeLoop::run() {
  for (;;) {
    uint64_t version = 0;
    Sources sources;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stop_) return;
      version = version_.load();
      sources = sources_;
      acknowledged_ = version;
    }
    seen_.notify_all();
    if (poll_ && !sources.empty()) {
      while (version_.load(std::memory_order_relaxed) == version) {
        for (const auto &source : sources) turn(*source, 0, version);
      }
    } else {
      block_on(sources, version);
    }
  }
}

void TakeLoop::block_on(const Sources &sources, uint64_t version) {
  std::vector<rclcpp::WaitSet::SubscriptionEntry> subscriptions;
  std::vector<std::shared_ptr<rclcpp::ClientBase>> clients;
  std::vector<std::shared_ptr<rclcpp::ServiceBase>> services;
  std::vector<const Source *> of_subscription, of_client, of_service;
  rclcpp::SubscriptionWaitSetMask messages_only;
  messages_only.include_events = false;
  messages_only.include_intra_process_waitable = false;
  for (const auto &source : sources) {
    if (source->subscription) {
      subscriptions.emplace_back(source->subscription, messages_only);
      of_subscription.push_back(source.get());
    } else if (source->client) {
      clients.push_back(source->client);
      of_client.push_back(source.get());
    } else {
      services.push_back(source->service);
      of_service.push_back(source.get());
    }
  }
  rclcpp::WaitSet set(subscriptions, {wake_}, {}, clients, services, {}, context_);
  // The iterables hold what the set must not keep alive.
  subscriptions.clear();
  clients.clear();
  services.clear();
  while (version_.load() == version) {
    auto result = set.wait(std::chrono::nanoseconds(-1));
    const int64_t notified_ns = rmwbench_now_ns();
    if (result.kind() != rclcpp::WaitResultKind::Ready) continue;
    const rcl_wait_set_t &ready = result.get_wait_set().get_rcl_wait_set();
    for (size_t i = 0; i < of_subscription.size(); ++i) {
      if (ready.subscriptions[i] != nullptr) turn(*of_subscription[i], notified_ns, version);
    }
    for (size_t i = 0; i < of_client.size(); ++i) {
      if (ready.clients[i] != nullptr) turn(*of_client[i], notified_ns, version);
    }
    for (size_t i = 0; i < of_service.size(); ++i) {
      if (ready.services[i] != nullptr) turn(*of_service[i], notified_ns, version);
    }
  }
}

// What it leaves makes the next wait return at once: a wait set of rmw tells of what is there, not
// only of what came.
void TakeLoop::turn(const Source &source, int64_t notified_ns, uint64_t version) {
  LoopStamps &stamps = loop_stamps();
  for (int left = RMWBENCH_TURN; left > 0 && version_.load(std::memory_order_relaxed) == version;
       --left) {
    stamps = LoopStamps{notified_ns, 0};
    if (!took(source)) break;
    // A further message was announced by no wait: the thread turns to it now.
    if (notified_ns != 0) notified_ns = rmwbench_now_ns();
  }
  stamps = LoopStamps{};
}

}  // namespace rmwbench
