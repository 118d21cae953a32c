// How a configuration reaches an RMW: a file in the trial's private /tmp, and the environment
// variable that this RMW really reads. Whether it was read is verified: the kernel reports whether
// the file was opened.
#pragma once

#include <cstdint>
#include <string>

#include <rmwbench_worker.h>

#include "options.hpp"
#include "rmw.hpp"

namespace rmwbench {

class Environment {
 public:
  // Sets the variables and writes the file; variables that would lead an RMW to another
  // configuration are removed from this process. `daemon`: the name of the daemon that is
  // configured, which does not read a session's file; empty for a worker. Throws Fault.
  Environment(const Rmw &rmw, const rmwbench_profile &profile, const Asked &asked,
              const std::string &daemon);
  ~Environment();
  Environment(const Environment &) = delete;
  Environment &operator=(const Environment &) = delete;

  // False if there is a file and nobody has opened it since.
  bool was_read();

  const std::string &path() const { return path_; }  // of the file; empty where there is none

  // The configuration in force, for the trial's files: the variables, then the file.
  const std::string &text() const { return text_; }

 private:
  void set(const std::string &name, const std::string &value);
  void write_file(const Rmw &rmw, const std::string &name, const std::string &content);

  std::string path_;
  std::string text_;
  int watch_ = -1;
  bool read_ = false;
};

}  // namespace rmwbench
