#pragma once

#include <map>
#include <string>

#include "settings.hpp"

namespace rmwbench {

struct Asked {
  Settings settings;
  std::map<std::string, std::string> modes;
  bool qos_from_xml = false;
};

// Options and modes of `open`. Throws Fault for what is unknown or contradicts itself.
Asked asked_of(const rmwbench_session_config &config);

}  // namespace rmwbench
