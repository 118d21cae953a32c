// RouDi, the daemon of iceoryx, as two C functions, without the signals and the configuration file
// of iceoryx's own program.
//
// It must not end applications: the orchestrator does that, and RouDi would send a signal to the
// process that now has the PID of a crashed one. iceoryx names this setting
// sharesAddressSpaceWithApplications; it has no other effect.

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

// Returns when applications can register. An error inside iceoryx ends the process, with iceoryx's
// text on stderr.
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

// Ends RouDi and removes its segments, sockets and locks.
void rmwbench_roudi_stop(void *daemon) { delete static_cast<Daemon *>(daemon); }

}  // extern "C"
