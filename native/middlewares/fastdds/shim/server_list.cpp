#include "server_list.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include <rmwbench_fault.hpp>

#include "discovery.hpp"

namespace rmwbench {

void ServerList::write() const {
  std::string servers;
  for (uint32_t number = 0; number < count_; ++number) {
    servers +=
        (number == 0 ? "" : ";") + server_address() + ":" + std::to_string(server_port(number));
  }
  const std::string text = "{\"ROS_DISCOVERY_SERVER\": \"" + servers + "\"}\n";
  // One write replaces the old, shorter text: Fast DDS reads the file when it is notified of a
  // change, and must not find half of the text.
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) close(file);
  if (!written)
    throw Fault{RMWBENCH_ERROR_FAILED, "option server_added_s",
                "the list of servers could not be written to " + path_};
}

ServerList::ServerList(uint32_t count) : count_(count) {
  if (count == 0) return;
  // The directory is private to the host, and the file to the process.
  const char *directory = std::getenv("TMPDIR");
  path_ = std::string(directory && *directory ? directory : "/tmp") + "/rmwbench-fastdds-servers-" +
          std::to_string(getpid()) + ".json";
  write();
}

void ServerList::extend() {
  ++count_;
  try {
    write();
  } catch (const Fault &) {
    // The file existed before; without its change no server is found, and the trial shows that.
  }
}

void ServerList::add_after(double seconds, std::function<void()> add) {
  thread_ = std::thread([this, seconds, add = std::move(add)] {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!wake_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return stopped_; }))
      add();
  });
}

void ServerList::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (!path_.empty()) unlink(path_.c_str());
  path_.clear();
}

}  // namespace rmwbench
