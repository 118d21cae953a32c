#include "layout.hpp"

#include <mutex>
#include <set>

namespace rmwbench {

rclcpp::SerializedMessage cdr_of(const rmwbench_message_type &type, const uint8_t *payload) {
  const size_t bytes = type.cdr_prefix_bytes + type.payload_bytes + type.cdr_suffix_bytes;
  rclcpp::SerializedMessage message(bytes);
  auto &raw = message.get_rcl_serialized_message();
  std::memcpy(raw.buffer, type.cdr_prefix, type.cdr_prefix_bytes);
  if (type.payload_bytes > 0)
    std::memcpy(raw.buffer + type.cdr_prefix_bytes, payload, type.payload_bytes);
  if (type.cdr_suffix_bytes > 0)
    std::memcpy(raw.buffer + type.cdr_prefix_bytes + type.payload_bytes, type.cdr_suffix,
                type.cdr_suffix_bytes);
  raw.buffer_length = bytes;
  return message;
}

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> known(bytes);
  for (size_t i = 0; i < bytes; ++i) known[i] = static_cast<uint8_t>(1 + i % 251);
  return known;
}

bool first_of_its_type(const char *name) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  std::lock_guard<std::mutex> lock(mutex);
  return seen.insert(name).second;
}

}  // namespace rmwbench
