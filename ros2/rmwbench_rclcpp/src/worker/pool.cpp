#include "pool.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include <rclcpp/create_publisher.hpp>
#include <std_msgs/msg/string.hpp>

#include <rmwbench_fault.hpp>

namespace rmwbench {
namespace {

// The harness ends its wait for a command after 10 s, with an error that says less.
constexpr auto PATIENCE = std::chrono::seconds(8);
// Larger than any threshold that is set here; the pool is made for larger messages.
constexpr size_t LARGE_BYTES = 65'536;
#ifdef __SANITIZE_ADDRESS__
// AddressSanitizer disables mlock, so the pages of a pool appear one by one.
constexpr bool POOL_IS_LOCKED = false;
#else
constexpr bool POOL_IS_LOCKED = true;
#endif

// The size of the largest segment of shared memory that this process maps. A sum over segments
// would mislead: a small segment of Zenoh's own may disappear while the pool is made.
uint64_t largest_segment_bytes() {
  std::ifstream mappings("/proc/self/smaps");
  uint64_t largest = 0;
  bool is_segment = false;
  for (std::string line; std::getline(mappings, line);) {
    if (line.rfind("Rss:", 0) == 0) {
      if (is_segment) largest = std::max<uint64_t>(largest, std::stoull(line.substr(4)) * 1024);
    } else if (!std::isupper(line.front())) {  // a mapping's first line
      is_segment = line.find(" /dev/shm/") != std::string::npos;
    }
  }
  return largest;
}

}  // namespace

void await_pool(rclcpp::Node &node, uint64_t bytes) {
  const auto end = std::chrono::steady_clock::now() + PATIENCE;
  const auto publisher =
      rclcpp::create_publisher<std_msgs::msg::String>(node, "rmwbench_pool", rclcpp::QoS(1));
  std_msgs::msg::String message;
  message.data.assign(LARGE_BYTES, ' ');
  for (publisher->publish(message); POOL_IS_LOCKED && largest_segment_bytes() < bytes;
       std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    if (std::chrono::steady_clock::now() > end) {
      throw Fault{RMWBENCH_ERROR_FAILED, "session",
                  "shared memory: " + std::to_string(largest_segment_bytes()) + " of the pool's " +
                      std::to_string(bytes) + " bytes were there after " +
                      std::to_string(PATIENCE.count()) +
                      " s; is /dev/shm large enough, and is the pool's size in force?"};
    }
  }
}

}  // namespace rmwbench
