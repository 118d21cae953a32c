#pragma once

#include <string>

namespace rmwbench {

// Listens to the log while a context begins: rmw_zenoh only warns of a part of
// ZENOH_CONFIG_OVERRIDE that its Zenoh does not accept, and continues without it.
class ZenohOverrides {
 public:
  ZenohOverrides();
  ~ZenohOverrides();
  ZenohOverrides(const ZenohOverrides &) = delete;
  ZenohOverrides &operator=(const ZenohOverrides &) = delete;

  // The first warning of that kind; empty if all parts were accepted.
  std::string refused() const;
};

}  // namespace rmwbench
