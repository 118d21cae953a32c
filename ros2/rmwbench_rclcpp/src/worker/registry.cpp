#include "registry.hpp"

#include <rmwbench_fault.hpp>

namespace rmwbench {

const TypeMaker &maker_of(const rmwbench_endpoint_config &config) {
  static const Registry registry = [] {
    Registry all;
    for (auto add : {add_arrays, add_large_arrays, add_point_clouds, add_structs, add_stamped,
                     add_sequences, add_records, add_sensors})
      add(all);
    return all;
  }();
  const auto found = registry.find(config.type.ros_type);
  if (found == registry.end()) {
    std::string known;
    for (const auto &entry : registry) known += (known.empty() ? "" : ", ") + entry.first;
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint),
                std::string("type ") + config.type.ros_type +
                    " is not compiled into this worker; it has " + known};
  }
  return found->second;
}

}  // namespace rmwbench
