#include <rmwbench_msgs/msg/array1m.hpp>
#include <rmwbench_msgs/msg/array2m.hpp>
#include <rmwbench_msgs/msg/array4m.hpp>
#include <rmwbench_msgs/msg/array8m.hpp>

#include "typed_array.hpp"

namespace rmwbench {

void add_large_arrays(Registry &registry) {
  using namespace rmwbench_msgs::msg;
  add_type<Array1m, ArrayField>(registry, "rmwbench_msgs/msg/Array1m");
  add_type<Array2m, ArrayField>(registry, "rmwbench_msgs/msg/Array2m");
  add_type<Array4m, ArrayField>(registry, "rmwbench_msgs/msg/Array4m");
  add_type<Array8m, ArrayField>(registry, "rmwbench_msgs/msg/Array8m");
}

}  // namespace rmwbench
