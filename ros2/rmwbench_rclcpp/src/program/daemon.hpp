// The daemons of RMWs are programs of the install; this process starts one, waits until it serves,
// and takes it along when it ends.
#pragma once

#include <sys/types.h>

#include <string>

#include "environment.hpp"
#include "rmw.hpp"

namespace rmwbench {

class DaemonProcess {
 public:
  // Returns when it serves. Throws Fault.
  explicit DaemonProcess(const std::string &name);
  ~DaemonProcess();

 private:
  bool ended();
  pid_t child_ = -1;
};

}  // namespace rmwbench

struct rmwbench_daemon {
  rmwbench::Environment environment;
  rmwbench::DaemonProcess process;
};
