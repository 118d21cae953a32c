#include <rmwbench_msgs/msg/struct256.hpp>
#include <rmwbench_msgs/msg/struct32k.hpp>
#include <rmwbench_msgs/msg/struct4k.hpp>

#include "typed.hpp"

namespace rmwbench {
namespace {

// Nested bytes and 8-byte fields need no padding: in memory as in CDR, all fields before the
// outermost time and id are one block.
struct NestedField {
  template <class T>
  auto &operator()(T &message) const {
    using Nested = std::array<uint8_t, sizeof(T) - 16>;
    static_assert(std::is_trivially_copyable<T>::value && std::is_standard_layout<T>::value,
                  "a plain structure");
    return reinterpret_cast<Nested &>(message);
  }
};

template <class T>
void dress_message(const T &from, T &to, NestedField) {
  to.time = from.time;
  to.id = from.id;
}

}  // namespace

void add_structs(Registry &registry) {
  using namespace rmwbench_msgs::msg;
  static_assert(sizeof(Struct256) == 528 && sizeof(Struct4k) == 8464 && sizeof(Struct32k) == 67728,
                "the published sizes");
  add_type<Struct256, NestedField>(registry, "rmwbench_msgs/msg/Struct256");
  add_type<Struct4k, NestedField>(registry, "rmwbench_msgs/msg/Struct4k");
  add_type<Struct32k, NestedField>(registry, "rmwbench_msgs/msg/Struct32k");
}

}  // namespace rmwbench
