// The suite gives each type's exact CDR: the bytes before the payload, the payload, the bytes after
// it. The RMW's own deserialiser reads from them the message with which every copy begins; the
// message is serialised once again to check that type and suite agree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rclcpp/serialization.hpp>
#include <rclcpp/serialized_message.hpp>

#include <rmwbench_fault.hpp>

#include "message.hpp"

namespace rmwbench {

inline Fault layout_fault(const rmwbench_endpoint_config &config, const std::string &what) {
  return {RMWBENCH_ERROR_INVALID, endpoint_name(config.endpoint),
          std::string("type ") + config.type.name + " as " + config.type.ros_type + ": " + what};
}

// The whole message with `payload` as CDR. If the payload is in pieces, each has `piece_bytes`,
// with equal parts of the suffix between them; otherwise `piece_bytes` is the size of the payload.
rclcpp::SerializedMessage cdr_of(const rmwbench_message_type &type, const uint8_t *payload,
                                 size_t piece_bytes);

// Whether `cdr` has the payload where `cdr_of` would put it.
bool has_payload(const rmwbench_message_type &type, const rclcpp::SerializedMessage &cdr,
                 const uint8_t *payload, size_t piece_bytes);

template <class Field>
constexpr size_t piece_bytes_of(const rmwbench_message_type &type) {
  if constexpr (in_pieces<Field>::value) {
    return sizeof(typename PieceOf<typename Field::value_type>::Type);
  } else {
    return type.payload_bytes;
  }
}

// A payload that can be recognised.
std::vector<uint8_t> pattern(size_t bytes);

// Returns true once per type name and process: the check costs several copies of the message.
bool first_of_its_type(const char *name);

// Throws Fault if the ROS type and the suite's layout are not the same bytes.
template <class T, class Field>
T prototype(const rmwbench_endpoint_config &config, Field field) {
  const rmwbench_message_type &type = config.type;
  const bool check = first_of_its_type(type.name);
  const std::vector<uint8_t> known = pattern(type.payload_bytes);
  rclcpp::Serialization<T> serialization;
  auto message = std::make_unique<T>();  // up to 8 MiB: not on the stack
  using Payload = std::remove_reference_t<decltype(field(*message))>;
  const size_t piece_bytes = piece_bytes_of<Payload>(type);
  rclcpp::SerializedMessage cdr = cdr_of(type, known.data(), piece_bytes);
  serialization.deserialize_message(&cdr, message.get());
  const Block found = block(field(*message));
  if (found.bytes != known.size() ||
      (found.bytes > 0 && std::memcmp(found.data, known.data(), found.bytes) != 0)) {
    throw layout_fault(config, "the payload is not where the suite's layout has it: " +
                                   std::to_string(found.bytes) + " bytes found, " +
                                   std::to_string(known.size()) + " expected");
  }
  if (check) {
    rclcpp::SerializedMessage again;
    serialization.serialize_message(message.get(), &again);
    const size_t expected = type.cdr_prefix_bytes + type.payload_bytes + type.cdr_suffix_bytes;
    // A larger size is no fault: some serialisers round the end up to 4 bytes, and
    // rmw_cyclonedds_cpp 4.1 of Lyrical counts 8 to 24 bytes too many for types of fixed size. A
    // type that is really longer cannot be read from the suite's bytes at all.
    if (again.size() < expected) {
      throw layout_fault(config, "its CDR has " + std::to_string(again.size()) +
                                     " bytes, the suite's layout " + std::to_string(expected));
    }
    if (!has_payload(type, again, known.data(), piece_bytes)) {
      throw layout_fault(config, "its CDR has the payload elsewhere than the suite's layout");
    }
  }
  if constexpr (is_sequence<Payload>::value) {
    field(*message).clear();
    field(*message).shrink_to_fit();
  } else if constexpr (in_pieces<Payload>::value) {
    fill(field(*message), std::vector<uint8_t>(known.size()).data(), known.size());
  } else if (found.bytes > 0) {
    std::memset(found.data, 0, found.bytes);
  }
  return std::move(*message);
}

}  // namespace rmwbench
