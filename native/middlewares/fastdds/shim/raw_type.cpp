#include "raw_type.hpp"

#include <algorithm>
#include <cstring>

namespace rmwbench {

// The bytes that Fast DDS reserves per message before it has had one. ROS 2's own type support
// reserves only the bounded part for unbounded types (Image, PointCloud2); the payload pool then
// grows each place to its message's size, once.
constexpr uint32_t reserved_bytes = 1024;

uint8_t *Layout::construct(uint8_t *sample, size_t bytes) const {
  uint8_t *payload = sample + prefix.size() - encapsulation_bytes;
  std::memcpy(sample, prefix.data() + encapsulation_bytes, prefix.size() - encapsulation_bytes);
  std::copy(suffix.begin(), suffix.end(),
            payload + bytes);  // may be empty, where memcpy must not be called
  return payload;
}

std::unique_lock<std::mutex> RawType::sized(size_t bytes) {
  if (!plain_) return {};
  std::unique_lock<std::mutex> held(mutex_);
#if RMWBENCH_FASTDDS_MAJOR >= 3
  max_serialized_type_size = static_cast<uint32_t>(bytes);
#else
  m_typeSize = static_cast<uint32_t>(bytes);
#endif
  return held;
}

RawType::RawType(const char *name, bool plain) : plain_(plain) {
#if RMWBENCH_FASTDDS_MAJOR >= 3
  set_name(name);
  max_serialized_type_size = reserved_bytes;
  is_compute_key_provided = false;
#else
  setName(name);
  m_typeSize = reserved_bytes;
  m_isGetKeyDefined = false;
  auto_fill_type_object(false);
  auto_fill_type_information(false);
#endif
}

uint32_t RawType::size(const void *data) {
  const auto *sample = static_cast<const Outgoing *>(data);
  return static_cast<uint32_t>(sample->layout->around() + sample->bytes);
}

bool RawType::write(const void *data, rtps::SerializedPayload_t &payload) {
  const auto *sample = static_cast<const Outgoing *>(data);
  const Layout &layout = *sample->layout;
  const size_t total = layout.around() + sample->bytes;
  if (payload.data == nullptr || payload.max_size < total) {
    return false;
  }
  uint8_t *to = payload.data;
  std::memcpy(to, layout.prefix.data(), layout.prefix.size());
  std::memcpy(to + layout.prefix.size(), sample->payload, sample->bytes);
  std::copy(layout.suffix.begin(), layout.suffix.end(), to + layout.prefix.size() + sample->bytes);
  payload.length = static_cast<uint32_t>(total);
  payload.encapsulation = CDR_LE;
  return true;
}

bool RawType::read(rtps::SerializedPayload_t &payload, void *data) {
  auto *sample = static_cast<Incoming *>(data);
  // This happens in practice: a reader that is overrun gets payloads without data.
  if (sample == nullptr || sample->layout == nullptr) {
    return false;
  }
  const size_t around = sample->layout->around();
  if (payload.data == nullptr || payload.length < around) {
    sample->refused->fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  size_t bytes = payload.length - around;
  // RTPS pads a message to a multiple of four. A generated type would not notice, because it knows
  // where its fields end.
  if (bytes > sample->expected && bytes - sample->expected < 4) bytes = sample->expected;
  sample->reserve(bytes);
  // A message without a payload may come before there is a buffer.
  if (bytes > 0)
    std::memcpy(sample->buffer.get(), payload.data + sample->layout->prefix.size(), bytes);
  sample->bytes = bytes;
  return true;
}

}  // namespace rmwbench
