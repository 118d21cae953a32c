#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "settings.hpp"

namespace rmwbench {

struct Asked {
  Settings settings;
  std::map<std::string, std::string> modes;
  bool qos_from_xml = false;
  bool secured = false;      // mode security
  uint64_t trial_nonce = 0;  // whose keystore that is
  std::string roudi_pools;   // of the daemon roudi; empty: as installed
  // What a user sets in the shell of this process: ROS_NAME, value. The last word over all that the
  // trial sets.
  std::vector<std::pair<std::string, std::string>> ros_variables;
};

// Why this build has no lifecycle nodes; NULL where it has.
const char *no_lifecycle();

// Why this build sends no images through image_transport; NULL where it does.
const char *no_image_transport();

// Why this build has no actions; NULL where it has.
const char *no_actions();

// Options and modes of `open`. Throws Fault for what is unknown or contradicts itself.
Asked asked_of(const rmwbench_session_config &config);

}  // namespace rmwbench
