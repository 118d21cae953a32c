// A client's list of discovery servers that grows while it runs, in one of Fast DDS's two ways:
// DomainParticipant::set_qos, or a file that it watches (FASTDDS_ENVIRONMENT_FILE, with
// ROS_DISCOVERY_SERVER in it), which ROS 2 users have. The file changes only participants that it
// made clients at their creation.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace rmwbench {

class ServerList {
 public:
  // Writes a file with this many servers; no file for 0.
  explicit ServerList(uint32_t count);
  ~ServerList() { stop(); }

  // The path that the environment must name before the first use of Fast DDS, which reads it once;
  // empty if there is no file.
  const std::string &path() const { return path_; }
  // Adds the next server to the file.
  void extend();
  // Calls `add` after this many seconds, unless stopped before.
  void add_after(double seconds, std::function<void()> add);
  void stop();

 private:
  void write() const;

  std::string path_;
  uint32_t count_ = 0;
  bool stopped_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace rmwbench
