// RouDi's pools, set by the option `roudi_pools`: as installed its largest chunks have 4 MiB, and a
// message that fits into no chunk cannot be lent.
#pragma once

#include <string>

namespace rmwbench {

inline constexpr char ROUDI[] = "roudi";  // the daemon's name

// Whether a RouDi serves this host. Without one iceoryx waits for a minute, prints so to stdout,
// and ends the process.
bool roudi_serves();

// The file that RouDi reads, from `SIZE:COUNT SIZE:COUNT`, sizes of messages in bytes, K or M.
// Throws Fault for any other text.
std::string roudi_configuration(const std::string &pools);

// A file that exists as long as this object.
class TemporaryFile {
 public:
  // Empty text: no file. Throws Fault.
  explicit TemporaryFile(const std::string &text);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  const std::string &path() const { return path_; }  // empty where there is no file

 private:
  std::string path_;
};

}  // namespace rmwbench
