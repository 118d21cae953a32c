// RouDi, the daemon of iceoryx, without the signals and the configuration file of its own program:
// two C functions.
//
// It must not end applications: the orchestrator does that, and RouDi would signal whatever process
// has got the number of one that crashed. sharesAddressSpaceWithApplications is its word for that
// and has no other effect.

#include "iceoryx_posh/internal/roudi/roudi.hpp"
#include "iceoryx_posh/iceoryx_posh_config.hpp"
#include "iceoryx_posh/roudi/iceoryx_roudi_components.hpp"
#include "iox/posix_group.hpp"

#include <cstddef>
#include <cstdint>

namespace {

struct Daemon {
  explicit Daemon(const iox::IceoryxConfig &config)
      : components(config), roudi(components.rouDiMemoryManager, components.portManager, config) {}

  iox::roudi::IceOryxRouDiComponents components;
  iox::roudi::RouDi roudi;
};

}  // namespace

extern "C" {

struct rmwbench_pool {
  uint64_t chunk_bytes;
  uint32_t chunks;
};

// Returns when applications can register. What fails inside iceoryx ends the process with its words
// on stderr.
void *rmwbench_roudi_start(const rmwbench_pool *pools, size_t count) {
  iox::mepoo::MePooConfig memory;
  for (size_t k = 0; k < count; ++k) {
    memory.addMemPool({pools[k].chunk_bytes, pools[k].chunks});
  }
  iox::IceoryxConfig config;
  config.sharesAddressSpaceWithApplications = true;
  const auto group = iox::PosixGroup::getGroupOfCurrentProcess().getName();
  config.m_sharedMemorySegments.push_back({group, group, memory});
  return new Daemon(config);
}

// Ends it and removes its segments, sockets and locks.
void rmwbench_roudi_stop(void *daemon) { delete static_cast<Daemon *>(daemon); }

}  // extern "C"
