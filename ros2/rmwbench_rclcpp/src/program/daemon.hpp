// The daemons of RMWs are programs of the ROS 2 installation. This process starts one, waits until
// it serves, and ends it when this process ends. If the daemon ends by itself, this process ends,
// too: to wait for this process is to wait for the daemon.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <thread>

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
  void watch(const std::string &object);
  pid_t child_ = -1;
  std::atomic<bool> ending_{false};
  std::thread watcher_;
  TemporaryFile pools_;
};

}  // namespace rmwbench

struct rmwbench_daemon {
  rmwbench::Environment environment;
  rmwbench::DaemonProcess process;
};
