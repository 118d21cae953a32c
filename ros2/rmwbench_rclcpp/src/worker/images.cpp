#include "images.hpp"

#include <algorithm>

#include <rmwbench_fault.hpp>

#include "beside.hpp"
#include "endpoints.hpp"
#include "images/transport.hpp"
#include "inbox.hpp"
#include "layout.hpp"
#include "qos.hpp"

namespace rmwbench {
namespace {

using sensor_msgs::msg::Image;

const ImageLibrary &library() {
  constexpr char file[] = "librmwbench_rclcpp_images.so";
  static std::string why;
  static const auto *const found =
      static_cast<const ImageLibrary *>(beside(file, "rmwbench_rclcpp_images", why));
  if (found == nullptr) throw Fault{RMWBENCH_ERROR_FAILED, file, why};
  return *found;
}

struct Pixels {
  auto &operator()(Image &image) const { return image.data; }
};

// A codec that changes pixels would change the identity in the first pixels. Every transport passes
// the header of an image unchanged, so the identity travels there, as text, and is put back before
// the image is delivered.
constexpr size_t IDENTITY_BYTES = 64;
constexpr char DIGITS[] = "0123456789abcdef";

std::string text_of(const uint8_t *identity) {
  std::string text(2 * IDENTITY_BYTES, '0');
  for (size_t i = 0; i < IDENTITY_BYTES; ++i) {
    text[2 * i] = DIGITS[identity[i] >> 4];
    text[2 * i + 1] = DIGITS[identity[i] & 15];
  }
  return text;
}

bool put_back(const std::string &text, std::vector<uint8_t> &pixels) {
  if (text.size() != 2 * IDENTITY_BYTES || pixels.size() < IDENTITY_BYTES) return false;
  const auto digit = [](char c) {
    return static_cast<uint8_t>(std::find(DIGITS, DIGITS + 16, c) - DIGITS);
  };
  for (size_t i = 0; i < IDENTITY_BYTES; ++i)
    pixels[i] = static_cast<uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return true;
}

bool is_lossy(const rmwbench_session &session) {
  return session.settings.images == ImageCodec::jpeg;
}

const char *codec_note(ImageCodec codec) {
  switch (codec) {
    case ImageCodec::jpeg:
      return "image_transport: compressed, JPEG of quality 95 as installed; pixels arrive changed, "
             "so a reader reads them and cannot check them, "
             "and a message's identity travels in header.frame_id";
    case ImageCodec::png:
      return "image_transport: compressed, PNG of level 3 as installed";
    case ImageCodec::zstd:
      return "image_transport: zstd";
    default:
      return "image_transport: raw";
  }
}

class ImagePublisher final : public rmwbench_publisher {
 public:
  ImagePublisher(rmwbench_node &node, const rmwbench_endpoint_config &config)
      : publishing_(node, config),
        codec_(*node.session.settings.images),
        lossy_(is_lossy(node.session)),
        image_(prototype<Image>(config, Pixels{})) {
    if (config.loan != 0) {
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, publishing_.object,
                  "loan: image_transport takes an image and lends no memory for one"};
    }
    if (publishing_.asked_mode != RMWBENCH_PUBLISH_DEFAULT) {
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, publishing_.object,
                  "publish_mode: image_transport does not give its publisher, so the mode cannot "
                  "be read back"};
    }
    sender_ = library().make_sender({publishing_.node, config.topic, codec_, asked_qos(config)},
                                    EventCounts::publisher(events_));
  }

  uint8_t *message(size_t bytes) override {
    image_.data.resize(bytes);
    return image_.data.data();
  }

  rmwbench_status publish(const uint8_t *payload, size_t bytes) override {
    if (payload != image_.data.data() || bytes != image_.data.size())
      image_.data.assign(payload, payload + bytes);
    if (lossy_) image_.header.frame_id = text_of(payload);
    sender_->publish(image_);
    return RMWBENCH_OK;
  }

  rmwbench_status loan(size_t, uint8_t **) override { return RMWBENCH_UNSUPPORTED; }
  rmwbench_status commit(uint8_t *, size_t) override { return RMWBENCH_FAILED; }
  uint32_t matched() const override { return static_cast<uint32_t>(sender_->subscribers()); }

  void granted(rmwbench_granted &granted) const override {
    publishing_.granted(sender_->qos(), granted);
    granted.note(granted.context, codec_note(codec_));
  }

  void account(const rmwbench_account &account) const override {
    events_->account_publisher(account);
  }

 private:
  Publishing publishing_;
  const ImageCodec codec_;
  const bool lossy_;
  Image image_;
  std::shared_ptr<EventCounts> events_ = std::make_shared<EventCounts>();
  std::unique_ptr<ImageSender> sender_;
};

class ImageSubscription final : public rmwbench_subscription {
 public:
  ImageSubscription(rmwbench_node &node, const rmwbench_endpoint_config &config,
                    const rmwbench_sink &sink)
      : receiving_(node, config),
        codec_(*node.session.settings.images),
        inbox_(std::make_shared<Inbox>(sink, config.endpoint)) {
    const bool lossy = is_lossy(node.session);
    const OnImage arrive = [inbox = inbox_, lossy](const Image &image) {
      const int64_t called_ns = rmwbench_now_ns();
      auto &pixels = const_cast<Image &>(image).data;  // the image was decoded for this callback
      if (lossy && !put_back(image.header.frame_id, pixels))
        inbox->arrive(called_ns, nullptr, 0, false, false);
      else
        inbox->arrive(called_ns, pixels.data(), pixels.size(), false, false, lossy);
    };
    receiver_ =
        library().make_receiver({receiving_.node, config.topic, codec_, asked_qos(config)}, arrive,
                                EventCounts::subscription(events_, receiving_.group));
  }

  ~ImageSubscription() override {
    inbox_->close();
    receiver_->leave();
    receiving_.session.retire(std::move(receiver_));
  }

  uint32_t matched() const override { return static_cast<uint32_t>(receiver_->publishers()); }

  void granted(rmwbench_granted &granted) const override {
    tell_qos(receiver_->qos(), granted);
    receiving_.granted(granted);
    granted.note(granted.context, codec_note(codec_));
  }

  void account(const rmwbench_account &account) const override {
    events_->account_subscription(account);
    inbox_->account(account);
  }

 private:
  Receiving receiving_;
  const ImageCodec codec_;
  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<EventCounts> events_ = std::make_shared<EventCounts>();
  std::shared_ptr<ImageReceiver> receiver_;
};

}  // namespace

bool through_image_transport(const rmwbench_node &node, const rmwbench_endpoint_config &config) {
  return node.session.settings.images.has_value() &&
         std::string(config.type.ros_type) == "sensor_msgs/msg/Image";
}

const TypeMaker &image_maker() {
  static const TypeMaker maker = {
      [](rmwbench_node &node, const rmwbench_endpoint_config &config) -> rmwbench_publisher * {
        return new ImagePublisher(node, config);
      },
      [](rmwbench_node &node, const rmwbench_endpoint_config &config, const rmwbench_sink &sink)
          -> rmwbench_subscription * { return new ImageSubscription(node, config, sink); },
  };
  return maker;
}

}  // namespace rmwbench
