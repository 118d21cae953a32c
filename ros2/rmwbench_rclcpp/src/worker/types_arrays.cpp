#include <rmwbench_msgs/msg/array16k.hpp>
#include <rmwbench_msgs/msg/array1k.hpp>
#include <rmwbench_msgs/msg/array32k.hpp>
#include <rmwbench_msgs/msg/array4k.hpp>
#include <rmwbench_msgs/msg/array60k.hpp>

#include "typed_array.hpp"

namespace rmwbench {

void add_arrays(Registry &registry) {
  using namespace rmwbench_msgs::msg;
  add_type<Array1k, ArrayField>(registry, "rmwbench_msgs/msg/Array1k");
  add_type<Array4k, ArrayField>(registry, "rmwbench_msgs/msg/Array4k");
  add_type<Array16k, ArrayField>(registry, "rmwbench_msgs/msg/Array16k");
  add_type<Array32k, ArrayField>(registry, "rmwbench_msgs/msg/Array32k");
  add_type<Array60k, ArrayField>(registry, "rmwbench_msgs/msg/Array60k");
}

}  // namespace rmwbench
