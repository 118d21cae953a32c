// The modes that choose and size transports: transport, congestion, shm_pool_bytes.
//
// A profile's own transports are kept if the mode keeps their kind, so that `tuned` with
// `transport: udp` still has tuned sockets. As installed, Fast DDS has a UDP and a shared-memory
// transport without descriptors; they are written out only if a mode must change them, so that an
// arm without modes really is untouched.
#pragma once

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>

#include "arm_settings.hpp"
#include "fastdds_api.hpp"

namespace rmwbench {

// Returns whether a mode concerns sockets while shared memory carries the messages within the host.
// Throws Fault: UNSUPPORTED for the size of a transport that the arm does not have.
bool apply_transports(const ArmSettings &settings, fd::DomainParticipantQos &qos);

// On a shared host (RMWBENCH_SHARED_HOST) sockets use only 127.0.0.1, whatever the profile says.
void keep_to_loopback(fd::DomainParticipantQos &qos);

// Delivery within the process without any transport is a setting of the library and not of a
// participant. It is on for intra_process and off for the other levels, because otherwise messages
// between nodes of one process would not use their transport.
void apply_intra_process(const ArmSettings &settings);

// The smallest buffers of the process's UDP sockets, as the number of bytes to request for them
// (the kernel doubles a request, and limits it to net.core.rmem_max and wmem_max); 0 without such
// sockets.
struct Buffers {
  uint32_t receive = 0, send = 0;
};
Buffers granted_buffers();

}  // namespace rmwbench
