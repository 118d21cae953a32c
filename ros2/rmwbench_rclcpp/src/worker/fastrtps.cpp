#include "fastrtps.hpp"

#include "beside.hpp"
#include "settings.hpp"

namespace rmwbench {

void *ask_fastrtps(const std::string &rmw, const char *symbol) {
  std::string why;
  return beside("librmwbench_rclcpp_" + rmw + ".so", symbol, why);
}

bool took_profiles(const std::string &rmw, const std::string &path) {
  using Took = int (*)(const char *);
  if (!is_fastrtps(rmw)) return true;
  const auto took = reinterpret_cast<Took>(ask_fastrtps(rmw, "rmwbench_fastrtps_took_profiles"));
  return took == nullptr || took(path.c_str()) != 0;
}

}  // namespace rmwbench
