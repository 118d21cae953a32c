// The worker for rclcpp over any RMW that is installed: RMW_IMPLEMENTATION names the RMW. Without
// that variable only two calls make sense: `--describe`, which then describes all RMWs, and
// `--graph DOMAIN`, which prints the graph over ROS 2's default RMW.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <rmwbench_fault.hpp>

#include "description.hpp"
#include "table.hpp"
#include "worker_library.hpp"

int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "--describe" &&
      std::getenv("RMWBENCH_DESCRIBE_ONE") == nullptr) {
    return rmwbench::describe_all("/proc/self/exe");
  }
  try {
    if (argc == 3 && std::string(argv[1]) == "--graph") {
      const auto domain_id = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
      return rmwbench::load_worker_library(false).print_graph(domain_id);
    }
    rmwbench::description();
  } catch (const rmwbench::Fault &fault) {
    std::fprintf(stderr, "%s: %s\n", fault.object.c_str(), fault.message.c_str());
    return 2;
  }
  return rmwbench_worker_main(&rmwbench::table, argc, argv);
}
