#include <rmwbench_msgs/msg/stamped100k.hpp>
#include <rmwbench_msgs/msg/stamped10k.hpp>
#include <rmwbench_msgs/msg/stamped128b.hpp>
#include <rmwbench_msgs/msg/stamped1k.hpp>
#include <rmwbench_msgs/msg/stamped500k.hpp>

#include "typed.hpp"

namespace rmwbench {
namespace {

struct StampedField {
  template <class T>
  auto &operator()(T &message) const {
    return message.data;
  }
};

template <class T>
void dress_message(const T &from, T &to, StampedField) {
  to.origin_ns = from.origin_ns;
  to.tracking_number = from.tracking_number;
}

}  // namespace

void add_stamped(Registry &registry) {
  using namespace rmwbench_msgs::msg;
  add_type<Stamped128b, StampedField>(registry, "rmwbench_msgs/msg/Stamped128b");
  add_type<Stamped1k, StampedField>(registry, "rmwbench_msgs/msg/Stamped1k");
  add_type<Stamped10k, StampedField>(registry, "rmwbench_msgs/msg/Stamped10k");
  add_type<Stamped100k, StampedField>(registry, "rmwbench_msgs/msg/Stamped100k");
  add_type<Stamped500k, StampedField>(registry, "rmwbench_msgs/msg/Stamped500k");
}

}  // namespace rmwbench
