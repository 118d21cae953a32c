// The daemons of RMWs are programs of the install; this process starts one, waits until it serves,
// and takes it along when it ends.
#pragma once

#include <sys/types.h>

#include <string>

#include "environment.hpp"
#include "rmw.hpp"
#include "roudi.hpp"

namespace rmwbench {

class DaemonProcess {
 public:
  // Returns when it serves. `roudi_pools`: see roudi.hpp; empty for other daemons. Throws Fault.
  DaemonProcess(const std::string &name, const std::string &roudi_pools);
  ~DaemonProcess();

 private:
  bool ended();
  pid_t child_ = -1;
  TemporaryFile pools_;
};

}  // namespace rmwbench

struct rmwbench_daemon {
  rmwbench::Environment environment;
  rmwbench::DaemonProcess process;
};
