// A client's list of discovery servers that grows while it runs, in one of the two ways that Fast
// DDS has: DomainParticipant::set_qos, or a file that it watches (FASTDDS_ENVIRONMENT_FILE, with
// ROS_DISCOVERY_SERVER in it), which is what ROS 2 users have. The file changes those alone that it
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
  // Writes a file with so many servers; none for 0.
  explicit ServerList(uint32_t count);
  ~ServerList() { stop(); }

  // What the environment must name before Fast DDS is first touched, which looks for it once; empty
  // where there is no file.
  const std::string &path() const { return path_; }
  // Adds the next server to the file.
  void extend();
  // Calls `add` after so many seconds, unless stopped before.
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
