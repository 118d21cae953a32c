// The messages: bytes in the layout of std_msgs/UInt8MultiArray, so that any ROS 1 tool reads them;
// and those of a service of bytes.
//
// A publisher by copy passes roscpp a View of its payload, so that roscpp makes the one copy, into
// the buffer that it sends. A reader gets a vector, as in generated messages.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <ros/message_traits.h>
#include <ros/serialization.h>
#include <ros/service_traits.h>
#include <std_msgs/UInt8MultiArray.h>

namespace rmwbench {

int64_t now_ns();

// The layout's empty list of dimensions and its offset; then the length of the data.
constexpr uint32_t layout_bytes = 8;

struct View {
  const uint8_t *data;
  uint32_t size;
};

struct Bytes {
  std::vector<uint8_t> data;
  // When roscpp began to deserialise it; 0: this is the same object that was published.
  int64_t begun_ns = 0;
};

struct Request {
  std::vector<uint8_t> data;
  int64_t begun_ns = 0;
};

struct Response {
  std::vector<uint8_t> data;
  int64_t begun_ns = 0;
};

template <typename Message>
struct IsArray
    : std::bool_constant<std::is_same_v<Message, View> || std::is_same_v<Message, Bytes>> {};

template <typename Message>
struct Serializer {
  template <typename Stream>
  static void write(Stream &stream, const Message &message) {
    if constexpr (IsArray<Message>::value) {
      stream.next(uint32_t{0});
      stream.next(uint32_t{0});
    }
    const auto size = static_cast<uint32_t>(length(message));
    stream.next(size);
    if (size > 0) std::memcpy(stream.advance(size), start(message), size);
  }

  template <typename Stream>
  static void read(Stream &stream, Message &message) {
    message.begun_ns = now_ns();
    uint32_t word = 0;
    if constexpr (IsArray<Message>::value) {
      stream.next(word);  // dimensions, of which there are none
      stream.next(word);
    }
    stream.next(word);
    const uint8_t *data = stream.advance(word);
    message.data.assign(data, data + word);
  }

  static uint32_t serializedLength(const Message &message) {
    return static_cast<uint32_t>(length(message)) + 4 +
           (IsArray<Message>::value ? layout_bytes : 0);
  }

 private:
  static size_t length(const View &view) { return view.size; }
  static const uint8_t *start(const View &view) { return view.data; }
  template <typename Other>
  static size_t length(const Other &message) {
    return message.data.size();
  }
  template <typename Other>
  static const uint8_t *start(const Other &message) {
    return message.data.data();
  }
};

}  // namespace rmwbench

namespace ros {
namespace serialization {
template <>
struct Serializer<rmwbench::View> : rmwbench::Serializer<rmwbench::View> {};
template <>
struct Serializer<rmwbench::Bytes> : rmwbench::Serializer<rmwbench::Bytes> {};
template <>
struct Serializer<rmwbench::Request> : rmwbench::Serializer<rmwbench::Request> {};
template <>
struct Serializer<rmwbench::Response> : rmwbench::Serializer<rmwbench::Response> {};
}  // namespace serialization

namespace message_traits {

// To all other programs both kinds of array are std_msgs/UInt8MultiArray.
#define RMWBENCH_ARRAY(Message)                                                           \
  template <>                                                                             \
  struct MD5Sum<Message> : MD5Sum<std_msgs::UInt8MultiArray> {                            \
    static const char *value() { return MD5Sum<std_msgs::UInt8MultiArray>::value(); }     \
    static const char *value(const Message &) { return value(); }                         \
  };                                                                                      \
  template <>                                                                             \
  struct DataType<Message> {                                                              \
    static const char *value() { return DataType<std_msgs::UInt8MultiArray>::value(); }   \
    static const char *value(const Message &) { return value(); }                         \
  };                                                                                      \
  template <>                                                                             \
  struct Definition<Message> {                                                            \
    static const char *value() { return Definition<std_msgs::UInt8MultiArray>::value(); } \
    static const char *value(const Message &) { return value(); }                         \
  };

RMWBENCH_ARRAY(rmwbench::View)
RMWBENCH_ARRAY(rmwbench::Bytes)
#undef RMWBENCH_ARRAY

}  // namespace message_traits

namespace service_traits {

// rmwbench_msgs/Bytes: one array of bytes in each direction. The sum is that of both definitions,
// as genmsg computes it.
#define RMWBENCH_SERVICE(Message)                                             \
  template <>                                                                 \
  struct MD5Sum<Message> {                                                    \
    static const char *value() { return "07ca5999d9d671038b26b777e731c7f0"; } \
    static const char *value(const Message &) { return value(); }             \
  };                                                                          \
  template <>                                                                 \
  struct DataType<Message> {                                                  \
    static const char *value() { return "rmwbench_msgs/Bytes"; }              \
    static const char *value(const Message &) { return value(); }             \
  };

RMWBENCH_SERVICE(rmwbench::Request)
RMWBENCH_SERVICE(rmwbench::Response)
#undef RMWBENCH_SERVICE

}  // namespace service_traits

namespace message_traits {
template <>
struct DataType<rmwbench::Request> {
  static const char *value() { return "rmwbench_msgs/BytesRequest"; }
};
template <>
struct DataType<rmwbench::Response> {
  static const char *value() { return "rmwbench_msgs/BytesResponse"; }
};
}  // namespace message_traits
}  // namespace ros
