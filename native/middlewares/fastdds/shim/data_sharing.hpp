// Whether a message was read in place in its writer's data-sharing segment: the address tells, since those segments are files in
// /dev/shm with a name of their own.
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
    // A writer's segment is mapped once, when it is matched: what is still unknown after a look at the maps is private memory.
    if (at >= private_begin_ && at < private_end_) return false;
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
        private_begin_ = begin;
        private_end_ = end;
      }
    }
    std::fclose(maps);
  }

  std::vector<std::pair<uintptr_t, uintptr_t>> segments_;
  uintptr_t private_begin_ = 0, private_end_ = 0;
};

}  // namespace rmwbench
