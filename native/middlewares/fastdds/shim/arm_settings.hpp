// The settings that an arm requests of Fast DDS beyond its profile: modes (the portable vocabulary)
// and options (Fast DDS's own settings), typed and checked once, when the session opens. An absent
// setting stays as in the profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rmwbench_worker.h>

namespace rmwbench {

enum class Transport { udp, tcp, shm, intra_process };
enum class Discovery { multicast, peers, server };
enum class Congestion { drop, block };
enum class DataSharing { off, on, automatic };

// A flow controller. It has no name of its own: an arm has one, and lists the topics that go
// through it.
struct Flow {
  std::string scheduler;
  int32_t max_bytes_per_period = 0;  // 0: no limit
  uint64_t period_ms = 100;
  std::vector<std::string> topics;                 // empty: all
  std::map<std::string, std::string> priority;     // topic -> -10 (first) to 10 (last)
  std::map<std::string, std::string> reservation;  // topic -> percent
};

struct ArmSettings {
  // Throws Fault: UNSUPPORTED for a mode that Fast DDS does not have, INVALID for an option that it
  // does not know.
  ArmSettings(const rmwbench_pair *modes, size_t mode_count, const rmwbench_pair *options,
              size_t option_count);
  ArmSettings() = default;

  std::optional<Transport> transport;
  std::optional<Discovery> discovery;
  std::optional<Congestion> congestion;
  std::optional<uint32_t> shm_pool_bytes;
  bool security = false;

  std::optional<Flow> flow;
  std::optional<DataSharing> data_sharing;
  bool plain_types = false;
  std::optional<double> heartbeat_period_ms, max_blocking_time_ms;
  std::optional<int32_t> max_samples;
  uint32_t server_count = 1;
  std::optional<double> server_added_s;  // when a client's list of servers is extended by one,
                                         // after its session opened
  bool server_added_by_file = false;     // else by set_qos
  bool server_persistence = false;
  uint32_t peer_range = 32;
  bool reply_filter = false;
  std::optional<bool> statistics;
  bool unique_flows = false;
  std::string security_directory;  // where the Rust side put the keys of the trial
};

}  // namespace rmwbench
