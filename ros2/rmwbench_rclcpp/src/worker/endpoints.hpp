// The functions of every endpoint, whatever its message type: the templates that implement them are
// in typed.hpp, images.cpp, service.cpp and action.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <rclcpp/rclcpp.hpp>

#include "session.hpp"
#include "spans.hpp"

struct rmwbench_publisher {
  virtual ~rmwbench_publisher() = default;
  virtual rmwbench_status publish(const uint8_t *payload, size_t bytes) = 0;
  virtual uint8_t *message(size_t bytes) = 0;
  virtual rmwbench_status loan(size_t bytes, uint8_t **memory) = 0;
  virtual rmwbench_status commit(uint8_t *memory, size_t bytes) = 0;
  virtual uint32_t matched() const = 0;
  virtual void granted(rmwbench_granted &granted) const = 0;
  virtual void account(const rmwbench_account &account) const = 0;
};

struct rmwbench_subscription {
  virtual ~rmwbench_subscription() = default;
  virtual uint32_t matched() const = 0;
  virtual void granted(rmwbench_granted &granted) const = 0;
  virtual void account(const rmwbench_account &account) const = 0;
};

struct rmwbench_client {
  virtual ~rmwbench_client() = default;
  virtual rmwbench_status request(const uint8_t *payload, size_t bytes) = 0;
  // NULL if requests are not written in place.
  virtual uint8_t *message(size_t) { return nullptr; }
  virtual uint32_t matched() const = 0;
  virtual void granted(rmwbench_granted &granted) const = 0;
  virtual void account(const rmwbench_account &account) const = 0;
};

struct rmwbench_service {
  virtual ~rmwbench_service() = default;
  virtual uint32_t matched() const = 0;
  virtual void granted(rmwbench_granted &granted) const = 0;
  void account(const rmwbench_account &) const {}  // rclcpp counts nothing of a service
};

namespace rmwbench {

// The decisions about a publisher that do not depend on its type.
class Publishing {
 public:
  // Throws Fault for a mode that the RMW does not support.
  Publishing(rmwbench_node &node, const rmwbench_endpoint_config &config);

  const rmwbench_session &session;
  const rclcpp::Node::SharedPtr node;
  const std::string object;  // "endpoint 3"
  const int32_t asked_mode;

  // Called after creation: compares the mode in force with the requested one. Throws Fault if they
  // differ.
  void check(const rclcpp::PublisherBase &publisher);
  // `actual` is read back from the publisher.
  void granted(const rclcpp::QoS &actual, rmwbench_granted &granted) const;

 private:
  int32_t mode_ = RMWBENCH_PUBLISH_DEFAULT;
  std::string mode_note_ = "publish mode: cannot be read back";
  bool in_place_ = false;
};

// The decisions about a subscription that do not depend on its type.
class Receiving {
 public:
  Receiving(rmwbench_node &node, const rmwbench_endpoint_config &config);

  rmwbench_session &session;
  const rclcpp::Node::SharedPtr node;
  const int32_t wait;
  const rclcpp::CallbackGroup::SharedPtr group;

  void granted(rmwbench_granted &granted) const;
  // Called last, before the object is destroyed: afterwards nothing holds it.
  void released(const std::weak_ptr<void> &object) const;
};

// Counts of the middleware's events; if the middleware has no such event, its counter is absent.
class EventCounts {
 public:
  // Options with which the events of an endpoint are counted here; deadlines and liveliness are
  // counted if they were requested.
  static rclcpp::PublisherOptions publisher(const std::shared_ptr<EventCounts> &events,
                                            const TopicQos &asked = {});
  static rclcpp::SubscriptionOptions subscription(const std::shared_ptr<EventCounts> &events,
                                                  const rclcpp::CallbackGroup::SharedPtr &group,
                                                  const TopicQos &asked = {});

  // Begins at 0 the counts of deadline and liveliness that were requested, if the RMW reports them.
  // rclcpp only logs which events the RMW lacks.
  void begin(const rclcpp::PublisherBase &publisher, const TopicQos &asked);
  void begin(const rclcpp::SubscriptionBase &subscription, const TopicQos &asked);
  // Reports which of the requested settings are in force, and which events nothing counts.
  void granted(const rclcpp::QoS &actual, const TopicQos &asked, const std::string &rmw,
               rmwbench_granted &granted) const;

  void account_publisher(const rmwbench_account &account) const;
  void account_subscription(const rmwbench_account &account) const;

 private:
  std::atomic<int64_t> incompatible_qos_{-1};
  std::atomic<int64_t> deadline_missed_{-1};
  std::atomic<int64_t> liveliness_lost_{
      -1};  // a writer's own, or a reader's writers that became not alive
};

// Reports the messages that the RMW knows never came to this reader, if the RMW counts them; no RMW
// counts the messages that a reader's own queue dropped. The count is read once, since a handler
// would be one more object for which the executor waits at every message, and an ordinary node has
// none.
void tell_lost(const rclcpp::SubscriptionBase &subscription, const rmwbench_account &account);

}  // namespace rmwbench
