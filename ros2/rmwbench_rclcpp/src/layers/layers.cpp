// Interposes public functions of rcl and rmw and the middleware's own write, the same ones for
// every RMW, and marks when each is called and returns.
//
// Loaded before rcl with global symbols, so that the calls of rclcpp, rcl and the RMW reach these
// functions; each of them calls the real function, which is looked up in the library that has it.
// Nothing in ROS 2 is changed, and a process without this library has none of this.

#include <dlfcn.h>
#include <link.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "marks.hpp"

// The functions pass their arguments on unchanged: all are integers and pointers, as each
// function's own header declares.
namespace {

using rmwbench::Marks;
using Word = void *;

Marks &marks() {
  thread_local Marks own{};
  return own;
}

inline void mark(uint32_t layer) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  Marks &own = marks();
  own.time_ns[layer] = now.tv_sec * 1000000000LL + now.tv_nsec;
  own.set |= 1u << layer;
}

int collect(dl_phdr_info *info, size_t, void *data) {
  if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
    static_cast<std::vector<std::pair<std::string, const void *>> *>(data)->emplace_back(
        info->dlpi_name, reinterpret_cast<const void *>(info->dlpi_addr));
  }
  return 0;
}

// The function `symbol` in the first library, except this one, that defines it. RTLD_NEXT would
// miss symbols that an RMW loaded privately.
void *real(const char *symbol) {
  // The list comes first: dl_iterate_phdr holds a lock that dlopen in another thread needs.
  std::vector<std::pair<std::string, const void *>> libraries;
  dl_iterate_phdr(collect, &libraries);
  Dl_info self{};
  dladdr(reinterpret_cast<void *>(&real), &self);
  for (const auto &[name, base] : libraries) {
    if (base == self.dli_fbase) continue;
    void *handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void *found = dlsym(handle, symbol);
    dlclose(handle);
    Dl_info where{};
    // dlsym also looks into the library's dependencies: only the library's own symbol counts.
    if (found != nullptr && dladdr(found, &where) != 0 && where.dli_fbase == base) return found;
  }
  std::fprintf(stderr, "rmwbench layers: nobody defines %s\n", symbol);
  std::abort();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) rmwbench::Marks *rmwbench_layers_marks() {
  return &marks();
}

// Return values of up to one register are passed on unchanged: int, bool and pointers alike. Eight
// words of arguments are passed on, more than any of these functions has (rmw_wait: seven, the last
// one on the stack); words beyond a function's own arguments are read from the caller's frame and
// ignored.
#define PASS(name, before, after)                                                               \
  extern "C" __attribute__((visibility("default"))) Word name(Word a, Word b, Word c, Word d,   \
                                                              Word e, Word f, Word g, Word h) { \
    using Real = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word);                      \
    static const Real next = reinterpret_cast<Real>(real(#name));                               \
    before;                                                                                     \
    const Word result = next(a, b, c, d, e, f, g, h);                                           \
    after;                                                                                      \
    return result;                                                                              \
  }

using namespace rmwbench;

PASS(rcl_publish, mark(LAYER_RCL_PUBLISH), mark(LAYER_RCL_PUBLISH_RETURN))
PASS(rcl_publish_loaned_message, mark(LAYER_RCL_PUBLISH), mark(LAYER_RCL_PUBLISH_RETURN))
PASS(rmw_publish, mark(LAYER_RMW_PUBLISH), mark(LAYER_RMW_PUBLISH_RETURN))
PASS(rmw_publish_loaned_message, mark(LAYER_RMW_PUBLISH), mark(LAYER_RMW_PUBLISH_RETURN))
PASS(rcl_wait, (void)0, mark(LAYER_RCL_WAIT_RETURN))
PASS(rmw_wait, (void)0, mark(LAYER_RMW_WAIT_RETURN))
PASS(rcl_take, mark(LAYER_RCL_TAKE), mark(LAYER_RCL_TAKE_RETURN))
PASS(rcl_take_loaned_message, mark(LAYER_RCL_TAKE), mark(LAYER_RCL_TAKE_RETURN))
PASS(rmw_take_with_info, mark(LAYER_RMW_TAKE), mark(LAYER_RMW_TAKE_RETURN))
PASS(rmw_take_loaned_message_with_info, mark(LAYER_RMW_TAKE), mark(LAYER_RMW_TAKE_RETURN))

// The middleware's own write, as each RMW calls it; a process whose middleware has another name for
// its write marks nothing there.
#define WRITE(name) PASS(name, mark(LAYER_MIDDLEWARE_WRITE), mark(LAYER_MIDDLEWARE_WRITE_RETURN))
WRITE(dds_write_ts)               // rmw_cyclonedds_cpp
WRITE(dds_write)                  // its older versions
WRITE(dds_writecdr)               // its loans
WRITE(ze_advanced_publisher_put)  // rmw_zenoh_cpp
WRITE(z_publisher_put)            // its older versions
// rmw_fastrtps: eprosima::fastdds::dds::DataWriter, from 2.6 to 3
WRITE(_ZN8eprosima7fastdds3dds10DataWriter5writeEPv)
WRITE(_ZN8eprosima7fastdds3dds10DataWriter5writeEPKv)
WRITE(
    _ZN8eprosima7fastdds3dds10DataWriter17write_w_timestampEPvRKNS_8fastrtps4rtps16InstanceHandle_tERKNS4_6Time_tE)
WRITE(
    _ZN8eprosima7fastdds3dds10DataWriter17write_w_timestampEPKvRKNS0_4rtps16InstanceHandle_tERKNS1_6Time_tE)
