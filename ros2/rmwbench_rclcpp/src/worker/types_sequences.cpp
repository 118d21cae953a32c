#include <rmwbench_msgs/msg/bytes.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <std_msgs/msg/u_int8_multi_array.hpp>

#include "typed.hpp"

namespace rmwbench {
namespace {

struct SequenceField {
  template <class T>
  auto &operator()(T &message) const {
    return message.data;
  }
};

void dress_message(const rmwbench_msgs::msg::Bytes &, rmwbench_msgs::msg::Bytes &, SequenceField) {}

void dress_message(const std_msgs::msg::UInt8MultiArray &from, std_msgs::msg::UInt8MultiArray &to,
                   SequenceField) {
  to.layout = from.layout;
}

void dress_message(const sensor_msgs::msg::Image &from, sensor_msgs::msg::Image &to,
                   SequenceField) {
  to.header = from.header;
  to.height = from.height;
  to.width = from.width;
  to.encoding = from.encoding;
  to.is_bigendian = from.is_bigendian;
  to.step = from.step;
}

}  // namespace

void add_sequences(Registry &registry) {
  add_type<rmwbench_msgs::msg::Bytes, SequenceField>(registry, "rmwbench_msgs/msg/Bytes");
  add_type<std_msgs::msg::UInt8MultiArray, SequenceField>(registry, "std_msgs/msg/UInt8MultiArray");
  add_type<sensor_msgs::msg::Image, SequenceField>(registry, "sensor_msgs/msg/Image");
}

}  // namespace rmwbench
