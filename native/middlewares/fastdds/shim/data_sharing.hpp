// Whether a message was read in place in its writer's data-sharing segment. The address decides
// this, since those segments are files in /dev/shm with names of their own.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace rmwbench {

class DataSharingSegments {
 public:
  bool contain(const void *address) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (known(at)) return true;
    // A writer's segment is mapped once, when it is matched: an address that is still unknown after
    // reading the maps is private memory. There are several such ranges (two writers, an arena and
    // a block of its own), and reading the maps costs tens of microseconds.
    for (const auto &range : private_) {
      if (at >= range.first && at < range.second) return false;
    }
    look(at);
    return known(at);
  }

 private:
  bool known(uintptr_t at) const {
    for (const auto &segment : segments_) {
      if (at >= segment.first && at < segment.second) return true;
    }
    return false;
  }

  void look(uintptr_t at) {
    segments_.clear();
    std::FILE *maps = std::fopen("/proc/self/maps", "re");
    if (maps == nullptr) return;
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
      unsigned long begin, end;
      if (std::sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
      if (std::strstr(line, "/dev/shm/fast_datasharing") != nullptr) {
        segments_.emplace_back(begin, end);
      } else if (at >= begin && at < end) {
        if (private_.size() == most_private) private_.clear();  // this memory comes and goes
        private_.emplace_back(begin, end);
      }
    }
    std::fclose(maps);
  }

  static constexpr size_t most_private = 64;

  std::vector<std::pair<uintptr_t, uintptr_t>> segments_, private_;
};

}  // namespace rmwbench
