// What every endpoint can do, whatever its message type: the templates behind are in typed.hpp,
// images.cpp, service.cpp and action.cpp.
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
  // NULL where no request is written in place.
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

// What is decided of a publisher before its type matters.
class Publishing {
 public:
  // Throws Fault for a mode that the RMW cannot do.
  Publishing(rmwbench_node &node, const rmwbench_endpoint_config &config);

  const rmwbench_session &session;
  const rclcpp::Node::SharedPtr node;
  const std::string object;  // "endpoint 3"
  const int32_t asked_mode;

  // After creation: what is in force, compared with what was asked. Throws Fault where they differ.
  void check(const rclcpp::PublisherBase &publisher);
  // `actual` is read back from the publisher.
  void granted(const rclcpp::QoS &actual, rmwbench_granted &granted) const;

 private:
  int32_t mode_ = RMWBENCH_PUBLISH_DEFAULT;
  std::string mode_note_ = "publish mode: cannot be read back";
  bool in_place_ = false;
};

// What is decided of a subscription before its type matters.
class Receiving {
 public:
  Receiving(rmwbench_node &node, const rmwbench_endpoint_config &config);

  rmwbench_session &session;
  const rclcpp::Node::SharedPtr node;
  const int32_t wait;
  const rclcpp::CallbackGroup::SharedPtr group;

  void granted(rmwbench_granted &granted) const;
  // The last word before the object goes: afterwards nobody holds it.
  void released(const std::weak_ptr<void> &object) const;
};

// Counted by the middleware's events; where it has none the counter is absent.
class EventCounts {
 public:
  // Options under which the events of an endpoint are counted here; deadlines and liveliness where
  // they are asked for.
  static rclcpp::PublisherOptions publisher(const std::shared_ptr<EventCounts> &events,
                                            const TopicQos &asked = {});
  static rclcpp::SubscriptionOptions subscription(const std::shared_ptr<EventCounts> &events,
                                                  const rclcpp::CallbackGroup::SharedPtr &group,
                                                  const TopicQos &asked = {});

  // What was asked for of deadline and liveliness is counted from 0 on where the RMW tells it.
  // rclcpp only logs what it lacks.
  void begin(const rclcpp::PublisherBase &publisher, const TopicQos &asked);
  void begin(const rclcpp::SubscriptionBase &subscription, const TopicQos &asked);
  // What is in force of the asked, and which events nobody counts.
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

// The messages that the RMW knows never came to this reader, where it tells; no RMW tells what a
// reader's own queue dropped. Asked for once, since a handler would be one more thing that the
// executor waits for at every message, which it does not for a node left alone.
void tell_lost(const rclcpp::SubscriptionBase &subscription, const rmwbench_account &account);

}  // namespace rmwbench
