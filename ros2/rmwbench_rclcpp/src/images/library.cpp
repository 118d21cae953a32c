#include <algorithm>
#include <vector>

#include <image_transport/image_transport.hpp>

#include <rmwbench_fault.hpp>

#include "images/transport.hpp"

namespace rmwbench {
namespace {

// The names that image_transport has for a codec: its transport, and the format of the transport
// `compressed`.
struct Transport {
  std::string name;
  std::string format;
};

Transport transport_of(ImageCodec codec) {
  switch (codec) {
    case ImageCodec::jpeg:
      return {"compressed", "jpeg"};
    case ImageCodec::png:
      return {"compressed", "png"};
    case ImageCodec::zstd:
      return {"zstd", ""};
    default:
      return {"raw", ""};
  }
}

// image_transport only logs that a transport is missing; its publisher then sends to nobody.
Transport installed(ImageCodec codec) {
  const Transport transport = transport_of(codec);
  const auto all = image_transport::getDeclaredTransports();
  if (std::find(all.begin(), all.end(), "image_transport/" + transport.name) == all.end()) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option image_transport",
                "this ROS 2 has no plugin for the transport " + transport.name + " (package " +
                    (transport.name == "zstd" ? "zstd" : "compressed") + "_image_transport)"};
  }
  return transport;
}

std::string topic_of(const ImageTopic &topic, const Transport &transport) {
  const std::string base = topic.node->get_node_topics_interface()->resolve_topic_name(topic.name);
  return transport.name == "raw" ? base : base + "/" + transport.name;
}

// image_transport gives access neither to its publisher nor to its subscription: the QoS is that of
// this node's endpoints in the graph. The graph has no history, so the requested one is returned.
rclcpp::QoS in_force(const std::vector<rclcpp::TopicEndpointInfo> &endpoints,
                     const ImageTopic &topic) {
  rclcpp::QoS qos = topic.asked;
  for (const auto &endpoint : endpoints) {
    if (endpoint.node_name() != topic.node->get_name()) continue;
    qos.reliability(endpoint.qos_profile().reliability())
        .durability(endpoint.qos_profile().durability());
  }
  return qos;
}

// The transport declares its parameters as TOPIC.compressed.format; how the topic is written
// depends on the version.
void set_format(rclcpp::Node &node, const std::string &format) {
  const std::string ending = ".compressed.format";
  bool found = false;
  for (const auto &name : node.list_parameters({}, 0).names) {
    if (name.size() < ending.size() ||
        name.compare(name.size() - ending.size(), ending.size(), ending) != 0)
      continue;
    const auto result = node.set_parameter(rclcpp::Parameter(name, format));
    if (!result.successful)
      throw Fault{RMWBENCH_ERROR_FAILED, "option image_transport", name + ": " + result.reason};
    found = true;
  }
  if (!found)
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option image_transport",
                "the transport compressed has no parameter ending in " + ending};
}

class Sender final : public ImageSender {
 public:
  Sender(const ImageTopic &topic, const rclcpp::PublisherOptions &options)
      : topic_(topic), transport_(installed(topic.codec)) {
    publisher_ = image_transport::create_publisher(topic.node.get(), topic.name,
                                                   topic.asked.get_rmw_qos_profile(), options);
    if (!transport_.format.empty()) set_format(*topic.node, transport_.format);
  }

  void publish(const sensor_msgs::msg::Image &image) override { publisher_.publish(image); }
  size_t subscribers() const override { return publisher_.getNumSubscribers(); }
  rclcpp::QoS qos() const override {
    return in_force(topic_.node->get_publishers_info_by_topic(topic_of(topic_, transport_)),
                    topic_);
  }

 private:
  const ImageTopic topic_;
  const Transport transport_;
  image_transport::Publisher publisher_;
};

class Receiver final : public ImageReceiver {
 public:
  Receiver(const ImageTopic &topic, const OnImage &on_image,
           const rclcpp::SubscriptionOptions &options)
      : topic_(topic), transport_(installed(topic.codec)) {
    subscriber_ = image_transport::create_subscription(
        topic.node.get(), topic.name,
        [on_image](const sensor_msgs::msg::Image::ConstSharedPtr &image) { on_image(*image); },
        transport_.name, topic.asked.get_rmw_qos_profile(), options);
  }

  size_t publishers() const override { return subscriber_.getNumPublishers(); }
  rclcpp::QoS qos() const override {
    return in_force(topic_.node->get_subscriptions_info_by_topic(topic_of(topic_, transport_)),
                    topic_);
  }
  void leave() override { subscriber_.shutdown(); }

 private:
  const ImageTopic topic_;
  const Transport transport_;
  image_transport::Subscriber subscriber_;
};

std::unique_ptr<ImageSender> make_sender(const ImageTopic &topic,
                                         const rclcpp::PublisherOptions &options) {
  return std::make_unique<Sender>(topic, options);
}

std::unique_ptr<ImageReceiver> make_receiver(const ImageTopic &topic, const OnImage &on_image,
                                             const rclcpp::SubscriptionOptions &options) {
  return std::make_unique<Receiver>(topic, on_image, options);
}

}  // namespace
}  // namespace rmwbench

extern "C" __attribute__((visibility("default")))
const rmwbench::ImageLibrary rmwbench_rclcpp_images = {
    rmwbench::make_sender,
    rmwbench::make_receiver,
};
