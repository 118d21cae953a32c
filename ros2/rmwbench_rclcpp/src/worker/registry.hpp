// The message types that this worker has, by ROS name.
#pragma once

#include <map>
#include <string>

#include <rmwbench_worker.h>

namespace rmwbench {

struct TypeMaker {
  rmwbench_publisher *(*publisher)(rmwbench_node &node, const rmwbench_endpoint_config &config);
  rmwbench_subscription *(*subscription)(rmwbench_node &node,
                                         const rmwbench_endpoint_config &config,
                                         const rmwbench_sink &sink);
};

using Registry = std::map<std::string, TypeMaker>;

// Throws Fault for a type that is not in the registry, and lists those that are.
const TypeMaker &maker_of(const rmwbench_endpoint_config &config);

// Each has a translation unit of its own, because a ROS type takes seconds to compile.
void add_arrays(Registry &registry);
void add_large_arrays(Registry &registry);
void add_point_clouds(Registry &registry);
void add_structs(Registry &registry);
void add_stamped(Registry &registry);
void add_sequences(Registry &registry);
void add_records(Registry &registry);
void add_sensors(Registry &registry);

}  // namespace rmwbench
