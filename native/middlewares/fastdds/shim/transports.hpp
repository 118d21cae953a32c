// The modes that choose and size transports: transport, congestion, shm_pool_bytes.
//
// A profile's own transports are kept where the mode keeps their kind, so that `tuned` with
// `transport: udp` still has tuned sockets. As installed Fast DDS has a UDP and a shared-memory
// transport that no descriptor shows; they are written out only when a mode must change them, so
// that an arm without modes really is untouched.
#pragma once

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>

#include "asked.hpp"
#include "fastdds_api.hpp"

namespace rmwbench {

// Whether a mode is about sockets while shared memory carries what stays within the host. Throws
// Fault: UNSUPPORTED for a size of a transport that the arm does not have.
bool apply_transports(const Asked &asked, fd::DomainParticipantQos &qos);

// On a shared host (RMWBENCH_SHARED_HOST) sockets are 127.0.0.1's alone, whatever the profile says.
void keep_to_loopback(fd::DomainParticipantQos &qos);

// Delivery within the process without any transport is a setting of the library and not of a
// participant: on for intra_process, off for the other levels, whose messages would not use their
// transport between nodes of one process otherwise.
void apply_intra_process(const Asked &asked);

// The smallest buffers of the process's UDP sockets, as many bytes as one may ask for to have them
// (the kernel doubles what it is asked for, and cuts it at net.core.rmem_max and wmem_max); 0
// without such sockets.
struct Buffers {
  uint32_t receive = 0, send = 0;
};
Buffers granted_buffers();

}  // namespace rmwbench
