// Where the payload is in each message type, and how the other fields get the values that the suite
// describes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <rmwbench_worker.h>

#if __has_include(<rosidl_buffer/buffer.hpp>)
#include <rosidl_buffer/buffer.hpp>
#endif

namespace rmwbench {

struct Block {
  uint8_t *data;
  size_t bytes;
};

// The field that holds a type's payload is named once, where the type is registered (types_*.cpp):
// a function object whose call with a message returns a reference to that field. Four shapes of
// field exist: sequences and arrays of plain memory, one of Lyrical's, and a sequence whose
// elements hold a piece of the payload each (PieceOf).
template <class Element, class Allocator>
std::enable_if_t<std::is_arithmetic<Element>::value, Block> block(
    std::vector<Element, Allocator> &field) {
  return {reinterpret_cast<uint8_t *>(field.data()), field.size() * sizeof(Element)};
}
template <class Element, size_t N>
Block block(std::array<Element, N> &field) {
  static_assert(std::is_trivially_copyable<Element>::value && alignof(Element) <= 8,
                "the payload must be plain memory without gaps");
  return {reinterpret_cast<uint8_t *>(field.data()), sizeof field};
}

// The part of the payload in an element of a sequence: `Type` is plain memory without gaps, `of`
// returns a reference to it. Specialised where a type with such elements is registered.
template <class Element>
struct PieceOf;

template <class Field>
struct is_sequence : std::false_type {};
template <class Element, class Allocator>
struct is_sequence<std::vector<Element, Allocator>> : std::is_arithmetic<Element> {};

template <class Field>
struct in_pieces : std::false_type {};
template <class Element, class Allocator>
struct in_pieces<std::vector<Element, Allocator>>
    : std::integral_constant<bool, !std::is_arithmetic<Element>::value> {};

// The payload of a message that has it in pieces, joined: a copy, which the next call in this
// thread overwrites.
template <class Element, class Allocator>
std::enable_if_t<!std::is_arithmetic<Element>::value, Block> block(
    std::vector<Element, Allocator> &field) {
  using Piece = typename PieceOf<Element>::Type;
  thread_local std::vector<uint8_t> together;
  together.resize(field.size() * sizeof(Piece));
  uint8_t *to = together.data();
  for (Element &element : field) {
    std::memcpy(to, &PieceOf<Element>::of(element), sizeof(Piece));
    to += sizeof(Piece);
  }
  return {together.data(), together.size()};
}

#if __has_include(<rosidl_buffer/buffer.hpp>)
// Since Lyrical uint8[] is this type, which converts to a vector but is not one.
template <class Element, class Allocator>
Block block(rosidl::Buffer<Element, Allocator> &field) {
  return {reinterpret_cast<uint8_t *>(field.data()), field.size() * sizeof(Element)};
}
template <class Element, class Allocator>
struct is_sequence<rosidl::Buffer<Element, Allocator>> : std::true_type {};
#endif

// Makes room for `bytes`; returns false if the field has another, fixed size, or if its elements
// cannot hold exactly this many bytes.
template <class Field>
bool make_room(Field &field, size_t bytes) {
  if constexpr (is_sequence<Field>::value) {
    constexpr size_t element = sizeof(typename Field::value_type);
    if (bytes % element != 0) return false;
    if (field.size() != bytes / element) field.resize(bytes / element);
    return true;
  } else if constexpr (in_pieces<Field>::value) {
    // Each element has other fields, too, whose values came with the message's prototype.
    using Piece = typename PieceOf<typename Field::value_type>::Type;
    return field.size() * sizeof(Piece) == bytes;
  } else {
    return block(field).bytes == bytes;
  }
}

// Copies `payload` into the message.
template <class Field>
bool fill(Field &field, const uint8_t *payload, size_t bytes) {
  if constexpr (is_sequence<Field>::value &&
                std::is_same<typename Field::value_type, uint8_t>::value) {
    field.assign(payload, payload + bytes);  // does not write zeros first
    return true;
  } else if constexpr (in_pieces<Field>::value) {
    using Element = typename Field::value_type;
    using Piece = typename PieceOf<Element>::Type;
    static_assert(std::is_trivially_copyable<Piece>::value, "a piece must be plain memory");
    if (!make_room(field, bytes)) return false;
    for (Element &element : field) {
      std::memcpy(&PieceOf<Element>::of(element), payload, sizeof(Piece));
      payload += sizeof(Piece);
    }
    return true;
  } else {
    if (!make_room(field, bytes)) return false;
    std::memcpy(block(field).data, payload, bytes);
    return true;
  }
}

}  // namespace rmwbench
