#include "endpoints.hpp"

#include <rmwbench_fault.hpp>

#include "executor_loop.hpp"
#include "publish_mode.hpp"
#include "qos.hpp"

// Exists since Jazzy's later releases; NULL if rmw does not have it.
extern "C" bool rmw_event_type_is_supported(rmw_event_type_t type) __attribute__((weak));

namespace rmwbench {
namespace {

rclcpp::CallbackGroup::SharedPtr own_group(rclcpp::Node &node) {
  // Each endpoint has a group of its own: the executor's threads may then serve different endpoints
  // at once, and the messages of one endpoint in order.
  return node.create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
}

// rmw_zenoh accepts a handler for some events that it never reports.
bool is_told(rmw_event_type_t type) {
  return &rmw_event_type_is_supported == nullptr || rmw_event_type_is_supported(type);
}

// Begins a count at 0; an event may have come before this, and then the count has begun.
void from_zero(std::atomic<int64_t> &count) {
  int64_t absent = -1;
  count.compare_exchange_strong(absent, 0);
}

void tell_count(const rmwbench_account &account, const char *name, int64_t value) {
  if (value >= 0) account.counter(account.context, name, value);
}

const char ALLOCATOR[] = "allocator: rclcpp's default, std::allocator";
const char POOL[] =
    "shared memory: the RMW's pool was made behind a message of this worker's, before the first of "
    "the publisher's own; a node of ROS 2 has it made behind one of its own";

// rmw_zenoh has no history for its readers: congestion control decides what is dropped, and that
// mode overrides the QoS.
void tell_zenoh_congestion(const std::string &asked, rmwbench_granted &granted) {
  const bool reliable = granted.qos.reliability == RMWBENCH_RELIABLE;
  const bool by_qos = reliable && granted.qos.history == RMWBENCH_KEEP_ALL;
  const bool blocks = asked.empty() ? by_qos : asked == "block";
  granted.when_full = blocks ? RMWBENCH_FULL_BLOCKS : RMWBENCH_FULL_DROPS_AT_WRITER;
  if (blocks && !by_qos) {
    granted.note(
        granted.context,
        "congestion control block, as the mode says: the publish call waits for room on the link");
  } else if (!blocks && reliable) {
    granted.note(granted.context,
                 "congestion control drop: what finds no room on the link in time is dropped, "
                 "reliable or not");
  }
}

// How long a publish call waits for room in a full history.
const char *blocking_note(const std::string &rmw) {
  if (is_fastrtps(rmw))
    return "a full history blocks a publish call for at most max_blocking_time, 100 ms as "
           "installed, and then the call fails";
  if (rmw == "rmw_cyclonedds_cpp") return "a full history blocks a publish call without a limit";
  return "a full history blocks a publish call, for how long is not known of this RMW";
}

}  // namespace

Publishing::Publishing(rmwbench_node &node_in, const rmwbench_endpoint_config &config)
    : session(node_in.session),
      node(node_in.node),
      object(endpoint_name(config.endpoint)),
      asked_mode(config.publish_mode) {
  in_place_ = config.loan != 0 && session.settings.intra_process;
  if (asked_mode != RMWBENCH_PUBLISH_DEFAULT && session.settings.intra_process) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object,
                "publish_mode: messages of the own process pass no writer of the middleware"};
  }
  node_in.session.await_pool(*node);
}

void Publishing::check(const rclcpp::PublisherBase &publisher) {
  const PublishModeFound found = publish_mode_of(publisher, session.settings.rmw);
  mode_ = found.mode;
  mode_note_ = found.note;
  if (asked_mode != RMWBENCH_PUBLISH_DEFAULT && mode_ != asked_mode) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object,
                std::string("publish_mode ") +
                    (asked_mode == RMWBENCH_PUBLISH_SYNC ? "sync" : "async") + ": " + mode_note_};
  }
}

void Publishing::granted(const rclcpp::QoS &actual, rmwbench_granted &granted) const {
  tell_qos(actual, granted);
  granted.note(granted.context, ALLOCATOR);
  if (session.settings.pool_bytes > 0) granted.note(granted.context, POOL);
  if (session.settings.intra_process) {
    // The RMW's publish mode and the effect of its full history concern only readers in other
    // processes.
    granted.note(granted.context,
                 in_place_ ? "intra-process, loan: a message of the publisher's own, filled in "
                             "place and passed on as unique_ptr; readers outside get a copy"
                 : session.settings.publish == PublishAs::unique_ptr
                     ? "intra-process: published as unique_ptr, which rclcpp passes on"
                     : "intra-process: published as a const reference, which rclcpp copies once");
    return;
  }
  granted.publish_mode = mode_;
  granted.note(granted.context, mode_note_.c_str());
  if (session.settings.rmw == "rmw_zenoh_cpp") {
    tell_zenoh_congestion(session.settings.congestion, granted);
  } else if (granted.qos.reliability == RMWBENCH_RELIABLE) {
    const bool blocks = granted.qos.history == RMWBENCH_KEEP_ALL;
    granted.when_full = blocks ? RMWBENCH_FULL_BLOCKS : RMWBENCH_FULL_OVERWRITES_AT_WRITER;
    if (blocks) granted.note(granted.context, blocking_note(session.settings.rmw));
  }
}

Receiving::Receiving(rmwbench_node &node_in, const rmwbench_endpoint_config &config)
    : session(node_in.session), node(node_in.node), wait(config.wait), group(own_group(*node)) {
  if (wait == RMWBENCH_WAIT_POLL)
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint), NO_POLL};
}

void Receiving::granted(rmwbench_granted &granted) const {
  const Settings &settings = session.settings;
  granted.wait = wait;
  const std::string executor =
      "executor: " + session.executor->name() +
      " of rclcpp; notified and taken are the callback's beginning, an executor tells no earlier "
      "moment";
  granted.note(granted.context, executor.c_str());
  granted.note(granted.context, ALLOCATOR);
  granted.note(granted.context,
               "callback group: one for each endpoint, mutually exclusive; a node left alone has "
               "one for all");
  granted.take = RMWBENCH_TAKE_TYPED;  // deserialised into a message of rclcpp
  if (granted.qos.history == RMWBENCH_KEEP_LAST) {
    granted.when_full = RMWBENCH_FULL_DROPS_AT_READER;
  } else if (settings.rmw == "rmw_zenoh_cpp") {
    granted.when_full = RMWBENCH_FULL_NEVER;
    granted.note(
        granted.context,
        "keep all: rmw_zenoh's queue of the reader grows without an end, and holds nobody up");
  } else {
    granted.when_full = granted.qos.reliability == RMWBENCH_RELIABLE
                            ? RMWBENCH_FULL_BLOCKS
                            : RMWBENCH_FULL_DROPS_AT_READER;
  }
}

rclcpp::PublisherOptions EventCounts::publisher(const std::shared_ptr<EventCounts> &events,
                                                const TopicQos &asked) {
  rclcpp::PublisherOptions options;
  options.event_callbacks.incompatible_qos_callback =
      [events](rclcpp::QOSOfferedIncompatibleQoSInfo &info) {
        events->incompatible_qos_ = info.total_count;
      };
  // rclcpp throws for a handler of an event that the RMW does not have
  if (asked.deadline_ms && is_told(RMW_EVENT_OFFERED_DEADLINE_MISSED)) {
    options.event_callbacks.deadline_callback = [events](rclcpp::QOSDeadlineOfferedInfo &info) {
      events->deadline_missed_ = info.total_count;
    };
  }
  if (asked.lease_ms && is_told(RMW_EVENT_LIVELINESS_LOST)) {
    options.event_callbacks.liveliness_callback = [events](rclcpp::QOSLivelinessLostInfo &info) {
      events->liveliness_lost_ = info.total_count;
    };
  }
  return options;
}

rclcpp::SubscriptionOptions EventCounts::subscription(const std::shared_ptr<EventCounts> &events,
                                                      const rclcpp::CallbackGroup::SharedPtr &group,
                                                      const TopicQos &asked) {
  rclcpp::SubscriptionOptions options;
  options.callback_group = group;
  options.event_callbacks.incompatible_qos_callback =
      [events](rclcpp::QOSRequestedIncompatibleQoSInfo &info) {
        events->incompatible_qos_ = info.total_count;
      };
  if (asked.deadline_ms && is_told(RMW_EVENT_REQUESTED_DEADLINE_MISSED)) {
    options.event_callbacks.deadline_callback = [events](rclcpp::QOSDeadlineRequestedInfo &info) {
      events->deadline_missed_ = info.total_count;
    };
  }
  if (asked.lease_ms && is_told(RMW_EVENT_LIVELINESS_CHANGED)) {
    options.event_callbacks.liveliness_callback = [events](rclcpp::QOSLivelinessChangedInfo &info) {
      from_zero(events->liveliness_lost_);
      if (info.not_alive_count_change > 0) events->liveliness_lost_ += info.not_alive_count_change;
    };
  }
  return options;
}

void EventCounts::begin(const rclcpp::PublisherBase &publisher, const TopicQos &asked) {
  const auto &events = publisher.get_event_handlers();
  if (asked.deadline_ms && events.count(RCL_PUBLISHER_OFFERED_DEADLINE_MISSED) != 0)
    from_zero(deadline_missed_);
  if (asked.lease_ms && events.count(RCL_PUBLISHER_LIVELINESS_LOST) != 0)
    from_zero(liveliness_lost_);
}

void EventCounts::begin(const rclcpp::SubscriptionBase &subscription, const TopicQos &asked) {
  const auto &events = subscription.get_event_handlers();
  if (asked.deadline_ms && events.count(RCL_SUBSCRIPTION_REQUESTED_DEADLINE_MISSED) != 0)
    from_zero(deadline_missed_);
  if (asked.lease_ms && events.count(RCL_SUBSCRIPTION_LIVELINESS_CHANGED) != 0)
    from_zero(liveliness_lost_);
}

void EventCounts::granted(const rclcpp::QoS &actual, const TopicQos &asked, const std::string &rmw,
                          rmwbench_granted &granted) const {
  if (!asked.asked()) return;
  granted.note(granted.context, topic_qos_note(actual, rmw).c_str());
  if (asked.deadline_ms && deadline_missed_ < 0)
    granted.note(granted.context, "events: this RMW tells no missed deadline");
  if (asked.lease_ms && liveliness_lost_ < 0)
    granted.note(granted.context, "events: this RMW tells no change of liveliness");
}

void EventCounts::account_publisher(const rmwbench_account &account) const {
  tell_count(account, "offered_incompatible_qos", incompatible_qos_);
  tell_count(account, "offered_deadline_missed", deadline_missed_);
  tell_count(account, "liveliness_lost", liveliness_lost_);
}

void EventCounts::account_subscription(const rmwbench_account &account) const {
  tell_count(account, "requested_incompatible_qos", incompatible_qos_);
  tell_count(account, "requested_deadline_missed", deadline_missed_);
  tell_count(account, "writers_not_alive", liveliness_lost_);
}

void tell_lost(const rclcpp::SubscriptionBase &subscription, const rmwbench_account &account) {
  if (!is_told(RMW_EVENT_MESSAGE_LOST)) return;
  rcl_event_t event = rcl_get_zero_initialized_event();
  if (rcl_subscription_event_init(&event, subscription.get_subscription_handle().get(),
                                  RCL_SUBSCRIPTION_MESSAGE_LOST) != RCL_RET_OK) {
    rcl_reset_error();
    return;
  }
  rmw_message_lost_status_t status = {};
  if (rcl_take_event(&event, &status) == RCL_RET_OK)
    tell_count(account, "sample_lost", static_cast<int64_t>(status.total_count));
  else
    rcl_reset_error();
  if (rcl_event_fini(&event) != RCL_RET_OK) rcl_reset_error();
}

void Receiving::released(const std::weak_ptr<void> &object) const {
  ExecutorLoop::release(object, *node);
}

}  // namespace rmwbench
