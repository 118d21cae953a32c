// One topic of images through image_transport. The worker library loads the library that makes its
// two ends (rmwbench_rclcpp_images) only if a trial needs it. Both libraries are compiled together,
// so plain C++ may cross between them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>

#include "settings.hpp"

namespace rmwbench {

class ImageSender {
 public:
  virtual ~ImageSender() = default;
  // Sends nothing while there is no subscription, as image_transport does.
  virtual void publish(const sensor_msgs::msg::Image &image) = 0;
  virtual size_t subscribers() const = 0;
  // The QoS of the topic that carries the images, which is the transport's own.
  virtual rclcpp::QoS qos() const = 0;
};

class ImageReceiver {
 public:
  virtual ~ImageReceiver() = default;
  virtual size_t publishers() const = 0;
  virtual rclcpp::QoS qos() const = 0;
  // Leaves the topic. A decoding that is under way still calls into this object, which must outlive
  // the executor.
  virtual void leave() = 0;
};

// The data that both ends need.
struct ImageTopic {
  rclcpp::Node::SharedPtr node;
  std::string name;
  ImageCodec codec;
  rclcpp::QoS asked;
};

using OnImage = std::function<void(const sensor_msgs::msg::Image &image)>;

// The library's functions; the symbol is `rmwbench_rclcpp_images`. Both throw Fault.
struct ImageLibrary {
  std::unique_ptr<ImageSender> (*make_sender)(const ImageTopic &topic,
                                              const rclcpp::PublisherOptions &options);
  std::unique_ptr<ImageReceiver> (*make_receiver)(const ImageTopic &topic, const OnImage &on_image,
                                                  const rclcpp::SubscriptionOptions &options);
};

}  // namespace rmwbench
