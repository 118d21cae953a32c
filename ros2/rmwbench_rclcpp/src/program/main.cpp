// The worker for rclcpp over any RMW that is installed: RMW_IMPLEMENTATION says over which. Without
// it only `--describe` makes sense, which then tells of all.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <rmwbench_fault.hpp>

#include "description.hpp"
#include "table.hpp"

int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "--describe" &&
      std::getenv("RMWBENCH_DESCRIBE_ONE") == nullptr) {
    return rmwbench::describe_all("/proc/self/exe");
  }
  try {
    rmwbench::description();
  } catch (const rmwbench::Fault &fault) {
    std::fprintf(stderr, "%s: %s\n", fault.object.c_str(), fault.message.c_str());
    return 2;
  }
  return rmwbench_worker_main(&rmwbench::table, argc, argv);
}
