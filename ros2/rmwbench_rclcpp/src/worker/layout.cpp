#include "layout.hpp"

#include <mutex>
#include <set>

namespace rmwbench {

namespace {

// Calls `part(offset in the CDR, offset in the payload, bytes)` for each piece.
template <class Part>
void each_piece(const rmwbench_message_type &type, size_t piece_bytes, Part part) {
  if (type.payload_bytes == 0) return;
  const size_t gaps = type.payload_bytes / piece_bytes - 1;
  const size_t between_bytes = gaps > 0 ? type.cdr_suffix_bytes / gaps : 0;
  size_t at = type.cdr_prefix_bytes;
  for (size_t begin = 0; begin < type.payload_bytes; begin += piece_bytes) {
    part(at, begin, piece_bytes);
    at += piece_bytes + between_bytes;
  }
}

}  // namespace

rclcpp::SerializedMessage cdr_of(const rmwbench_message_type &type, const uint8_t *payload,
                                 size_t piece_bytes) {
  const size_t bytes = type.cdr_prefix_bytes + type.payload_bytes + type.cdr_suffix_bytes;
  rclcpp::SerializedMessage message(bytes);
  auto &raw = message.get_rcl_serialized_message();
  std::memcpy(raw.buffer, type.cdr_prefix, type.cdr_prefix_bytes);
  size_t end = type.cdr_prefix_bytes;  // the end of the parts written so far
  const uint8_t *suffix = type.cdr_suffix;
  const auto fill_up_to = [&](size_t at) {
    if (at > end) std::memcpy(raw.buffer + end, suffix, at - end);
    suffix += at - end;
  };
  each_piece(type, piece_bytes, [&](size_t at, size_t begin, size_t piece) {
    fill_up_to(at);
    std::memcpy(raw.buffer + at, payload + begin, piece);
    end = at + piece;
  });
  fill_up_to(bytes);
  raw.buffer_length = bytes;
  return message;
}

bool has_payload(const rmwbench_message_type &type, const rclcpp::SerializedMessage &cdr,
                 const uint8_t *payload, size_t piece_bytes) {
  const uint8_t *buffer = cdr.get_rcl_serialized_message().buffer;
  bool same = true;
  each_piece(type, piece_bytes, [&](size_t at, size_t begin, size_t piece) {
    same = same && std::memcmp(buffer + at, payload + begin, piece) == 0;
  });
  return same;
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
