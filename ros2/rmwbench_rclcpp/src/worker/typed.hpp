// Publisher and subscription of one message type. `Field` names its payload; see message.hpp.
#pragma once

#include <atomic>
#include <optional>

#include "endpoints.hpp"
#include "inbox.hpp"
#include "layout.hpp"
#include "message.hpp"
#include "qos.hpp"
#include "registry.hpp"

namespace rmwbench {

template <class T, class Field>
class TypedPublisher final : public rmwbench_publisher {
  // A payload in pieces is written as a whole into memory of the worker, and publish() puts it into
  // the message.
  static constexpr bool in_pieces =
      rmwbench::in_pieces<std::remove_reference_t<decltype(Field{}(std::declval<T &>()))>>::value;

 public:
  TypedPublisher(rmwbench_node &node, const rmwbench_endpoint_config &config)
      : publishing_(node, config),
        spans_(config.endpoint),
        as_(node.session.settings.publish),
        in_place_(config.loan != 0 && node.session.settings.intra_process),
        topic_qos_(node.session.settings.topic_qos),
        message_(prototype<T>(config, Field{})) {
    if (!make_room(field_(message_), config.type.payload_bytes)) {
      throw layout_fault(config, "this type has a fixed size, asked for a payload of " +
                                     std::to_string(config.type.payload_bytes) + " bytes");
    }
    try {
      publisher_ = publishing_.node->template create_publisher<T>(
          config.topic, asked_qos(config, topic_qos_), EventCounts::publisher(events_, topic_qos_));
    } catch (const std::invalid_argument &refused) {  // rclcpp's refusal of a QoS for intra-process
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, publishing_.object, refused.what()};
    }
    publishing_.check(*publisher_);
    if (in_pieces && config.loan != 0) {
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, publishing_.object,
                  std::string("loan: the numbers of a ") + config.type.ros_type +
                      " do not lie together, so its memory cannot be written as one payload"};
    }
    events_->begin(*publisher_, topic_qos_);
    if (config.loan != 0 && !in_place_ && !publisher_->can_loan_messages()) {
      // rclcpp itself would lend heap memory and copy it: a loan only by name.
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, publishing_.object,
                  std::string("loan: ") + node.session.settings.rmw + " lends no memory for " +
                      config.type.ros_type + " with this profile"};
    }
  }

  ~TypedPublisher() override {
    loaned_.reset();  // before its publisher
    publisher_.reset();
  }

  rmwbench_status publish(const uint8_t *payload, size_t bytes) override {
    // A message that is moved takes its payload with it.
    uint8_t identity[64] = {};
    std::memcpy(identity, payload, std::min(bytes, sizeof identity));
    spans_.begin();
    const rmwbench_status status =
        as_ == PublishAs::unique_ptr ? publish_own(payload, bytes) : publish_again(payload, bytes);
    spans_.end(identity, std::min(bytes, sizeof identity));
    return status;
  }

  uint8_t *message(size_t bytes) override {
    if (in_pieces) {
      if (as_ == PublishAs::unique_ptr && !make_own(bytes)) return nullptr;
      together_.resize(bytes);
      return together_.data();
    }
    if (as_ != PublishAs::unique_ptr)
      return make_room(field_(message_), bytes) ? block(field_(message_)).data : nullptr;
    return make_own(bytes) ? block(field_(*own_)).data : nullptr;
  }

  rmwbench_status loan(size_t bytes, uint8_t **memory) override {
    if (in_place_) {
      if (!make_own(bytes)) return RMWBENCH_UNSUPPORTED;
      *memory = block(field_(*own_)).data;
      return RMWBENCH_OK;
    }
    if (!publisher_->can_loan_messages()) return RMWBENCH_UNSUPPORTED;
    loaned_.emplace(publisher_->borrow_loaned_message());
    T &message = loaned_->get();
    dress(message);
    const Block place = block(field_(message));
    if (place.bytes < bytes) {
      loaned_.reset();
      return RMWBENCH_UNSUPPORTED;
    }
    *memory = place.data;
    return RMWBENCH_OK;
  }

  rmwbench_status commit(uint8_t *memory, size_t bytes) override {
    if (in_place_)
      return own_ ? sent([&] { publisher_->publish(std::move(own_)); }) : RMWBENCH_FAILED;
    if (!loaned_) return RMWBENCH_FAILED;
    // The memory belongs to the reader as soon as it is published.
    uint8_t identity[64] = {};
    std::memcpy(identity, memory, std::min(bytes, sizeof identity));
    spans_.begin();
    auto loaned = std::move(*loaned_);
    loaned_.reset();
    const rmwbench_status status = sent([&] { publisher_->publish(std::move(loaned)); });
    spans_.end(identity, std::min(bytes, sizeof identity));
    return status;
  }

  uint32_t matched() const override {
    return static_cast<uint32_t>(publisher_->get_subscription_count());
  }

  void granted(rmwbench_granted &granted) const override {
    publishing_.granted(publisher_->get_actual_qos(), granted);
    events_->granted(publisher_->get_actual_qos(), topic_qos_, publishing_.session.settings.rmw,
                     granted);
  }

  void account(const rmwbench_account &account) const override {
    events_->account_publisher(account);
  }

 private:
  // Sets all fields but the payload.
  void dress(T &message) const { dress_message(message_, message, Field{}); }

  bool make_own(size_t bytes) {
    own_ = std::make_unique<T>();
    dress(*own_);
    return make_room(field_(*own_), bytes);
  }

  // Publishes the one message of this publisher; a payload that came from message() is already in
  // it.
  rmwbench_status publish_again(const uint8_t *payload, size_t bytes) {
    if (!holds(message_, payload, bytes) && !fill(field_(message_), payload, bytes))
      return RMWBENCH_FAILED;
    return sent([&] { publisher_->publish(message_); });
  }

  // Publishes a new message, which the call consumes.
  rmwbench_status publish_own(const uint8_t *payload, size_t bytes) {
    std::unique_ptr<T> message = std::move(own_);
    if (!message) {
      message = std::make_unique<T>();
      dress(*message);
    }
    if (!holds(*message, payload, bytes) && !fill(field_(*message), payload, bytes))
      return RMWBENCH_FAILED;
    return sent([&] { publisher_->publish(std::move(message)); });
  }

  bool holds(T &message, const uint8_t *payload, size_t bytes) {
    if (in_pieces) return false;
    const Block place = block(field_(message));
    return place.data == payload && place.bytes == bytes;
  }

  template <class Publish>
  static rmwbench_status sent(Publish publish) {
    try {
      publish();
      return RMWBENCH_OK;
    } catch (const rclcpp::exceptions::RCLErrorBase &error) {
      return error.ret == RCL_RET_TIMEOUT ? RMWBENCH_TIMEOUT : RMWBENCH_FAILED;
    }
  }

  Publishing publishing_;
  const PublishSpans spans_;
  const PublishAs as_;
  const bool in_place_;  // within a process the loan is the message that rclcpp passes on
  const TopicQos topic_qos_;
  T message_;
  Field field_;
  std::shared_ptr<EventCounts> events_ = std::make_shared<EventCounts>();
  typename rclcpp::Publisher<T>::SharedPtr publisher_;
  std::optional<rclcpp::LoanedMessage<T>> loaned_;
  std::unique_ptr<T> own_;
  std::vector<uint8_t> together_;  // a payload in pieces, joined
};

template <class T, class Field>
class TypedSubscription final : public rmwbench_subscription {
 public:
  TypedSubscription(rmwbench_node &node, const rmwbench_endpoint_config &config,
                    const rmwbench_sink &sink)
      : receiving_(node, config),
        inbox_(std::make_shared<Inbox>(sink, config.endpoint)),
        topic_qos_(node.session.settings.topic_qos) {
    try {
      subscription_ =
          create(config, EventCounts::subscription(events_, receiving_.group, topic_qos_));
    } catch (const std::invalid_argument &refused) {
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint), refused.what()};
    }
    events_->begin(*subscription_, topic_qos_);
    // For a callback that owns its message, rclcpp copies a loaned message.
    *loans_ = subscription_->can_loan_messages() &&
              receiving_.session.settings.callback != CallbackAs::unique_ptr;
  }

  ~TypedSubscription() override {
    inbox_->close();
    const std::weak_ptr<void> object = subscription_;
    subscription_.reset();
    receiving_.released(object);
  }

  uint32_t matched() const override {
    return static_cast<uint32_t>(subscription_->get_publisher_count());
  }

  void granted(rmwbench_granted &granted) const override {
    tell_qos(subscription_->get_actual_qos(), granted);
    receiving_.granted(granted);
    events_->granted(subscription_->get_actual_qos(), topic_qos_, receiving_.session.settings.rmw,
                     granted);
    if (*loans_) {
      granted.take = RMWBENCH_TAKE_LENT;
      granted.note(granted.context, "take: in the middleware's memory (rcl_take_loaned_message)");
      if (receiving_.session.settings.rmw == "rmw_cyclonedds_cpp") {
        granted.note(granted.context,
                     "take: inferred; what did not come through iceoryx rmw_cyclonedds copies into "
                     "memory of its own, and lends that");
      }
    }
  }

  void account(const rmwbench_account &account) const override {
    events_->account_subscription(account);
    tell_lost(*subscription_, account);
    inbox_->account(account);
  }

 private:
  typename rclcpp::Subscription<T>::SharedPtr create(const rmwbench_endpoint_config &config,
                                                     const rclcpp::SubscriptionOptions &options) {
    const auto arrive = [inbox = inbox_, loans = loans_](const T &message,
                                                         const rclcpp::MessageInfo &info) {
      const int64_t called_ns = rmwbench_now_ns();
      const Block found = block(Field{}(const_cast<T &>(message)));
      const bool intra = info.get_rmw_message_info().from_intra_process;
      inbox->arrive(called_ns, found.data, found.bytes, intra, *loans && !intra);
    };
    const auto qos = asked_qos(config, topic_qos_);
    rclcpp::Node &node = *receiving_.node;
    switch (receiving_.session.settings.callback) {
      case CallbackAs::shared_ptr:
        return node.create_subscription<T>(
            config.topic, qos,
            [arrive](std::shared_ptr<const T> message, const rclcpp::MessageInfo &info) {
              arrive(*message, info);
            },
            options);
      case CallbackAs::unique_ptr:
        return node.create_subscription<T>(
            config.topic, qos,
            [arrive](std::unique_ptr<T> message, const rclcpp::MessageInfo &info) {
              arrive(*message, info);
            },
            options);
      default:
        return node.create_subscription<T>(config.topic, qos, arrive, options);
    }
  }

  Receiving receiving_;
  std::shared_ptr<Inbox> inbox_;
  const TopicQos topic_qos_;
  std::shared_ptr<EventCounts> events_ = std::make_shared<EventCounts>();
  // Only the created subscription reports it, and the executor may call back by then.
  std::shared_ptr<std::atomic<bool>> loans_ = std::make_shared<std::atomic<bool>>(false);
  typename rclcpp::Subscription<T>::SharedPtr subscription_;
};

// Adds `T` under its ROS name.
template <class T, class Field>
void add_type(Registry &registry, const char *ros_type) {
  registry[ros_type] = {
      [](rmwbench_node &node, const rmwbench_endpoint_config &config) -> rmwbench_publisher * {
        return new TypedPublisher<T, Field>(node, config);
      },
      [](rmwbench_node &node, const rmwbench_endpoint_config &config,
         const rmwbench_sink &sink) -> rmwbench_subscription * {
        return new TypedSubscription<T, Field>(node, config, sink);
      },
  };
}

}  // namespace rmwbench
