// A client's list of discovery servers that grows while it runs, the way that ROS 2 users have: an environment file
// (FASTDDS_ENVIRONMENT_FILE) with ROS_DISCOVERY_SERVER in it, which Fast DDS watches. A client that was made by QoS or by a profile keeps
// its list for life: Fast DDS takes new servers from those alone that the environment made clients.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace rmwbench {

class ServerList {
 public:
  // Writes a file with so many servers; none for 0.
  explicit ServerList(uint32_t count);
  ~ServerList() { stop(); }

  // What the environment must name before Fast DDS is first touched, which looks for it once; empty where there is no file.
  const std::string &path() const { return path_; }
  // After so many seconds, adds the next server to the file.
  void add_after(double seconds);
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
