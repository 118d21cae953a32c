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
  uint64_t trial_nonce = 0;  // the trial of the keystore
  std::string roudi_pools;   // of the daemon roudi; empty: as installed
  // The variables that a user sets in the shell of this process: ROS_NAME, value. They override all
  // variables that the trial sets.
  std::vector<std::pair<std::string, std::string>> ros_variables;
};

// Why this build has no lifecycle nodes; NULL if it has them.
const char *no_lifecycle();

// Why this build sends no images through image_transport; NULL if it does.
const char *no_image_transport();

// Why this build has no actions; NULL if it has them.
const char *no_actions();

// Parses the options and modes of `open`. Throws Fault if one is unknown or they contradict each
// other.
Asked asked_of(const rmwbench_session_config &config);

}  // namespace rmwbench
