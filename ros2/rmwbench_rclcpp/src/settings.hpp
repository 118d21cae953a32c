// The settings that the program reads from `open` and the worker library uses. Both are compiled
// together, so plain C++ may cross between them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rmwbench_worker.h>

namespace rmwbench {

// Whether this is rmw_fastrtps, with either serialisation.
inline bool is_fastrtps(const std::string &rmw) { return rmw.rfind("rmw_fastrtps", 0) == 0; }

inline constexpr char NO_POLL[] = "an executor of rclcpp calls back; nobody here takes by himself";

enum class Executor {
  single_threaded,
  multi_threaded,
  events,
  events_cbg,
  static_single_threaded,
};
enum class PublishAs { const_ref, unique_ptr };
enum class CallbackAs { const_ref, shared_ptr, unique_ptr };
// How image_transport encodes an image: `raw` sends it as it is; of the others only `jpeg` changes
// pixels.
enum class ImageCodec { raw, jpeg, png, zstd };

// The kind of a call: the services of rmwbench_msgs, an action of ours, or the setting of a node's
// parameter.
enum class Calls { service, action, parameter };

// QoS of topics that the portable QoS does not have; nullopt: as installed, which is infinite.
struct TopicQos {
  std::optional<uint32_t> deadline_ms;
  std::optional<uint32_t> lifespan_ms;
  std::optional<uint32_t> lease_ms;  // the lease of liveliness
  bool manual_liveliness = false;    // by topic: a publish call asserts it

  bool asked() const { return deadline_ms || lifespan_ms || lease_ms || manual_liveliness; }
};

// How long the callbacks of a lifecycle node take.
struct LifecycleTimes {
  uint32_t configure_ms = 0;
  uint32_t activate_ms = 0;
};

// The nodes that a manager starts, in this order, and how long it waits for a service and for each
// answer.
struct Manages {
  std::string manager;  // the manager's own node; empty: this process has none
  std::vector<std::string> nodes;
  uint32_t service_timeout_ms = 5000;
};

struct Settings {
  std::string rmw;
  // The mode of all publishers.
  int32_t publish_mode = RMWBENCH_PUBLISH_DEFAULT;
  std::optional<uint32_t> domain_id = 0;  // none: rcl reads ROS_DOMAIN_ID, as for any node
  Executor executor = Executor::single_threaded;
  uint32_t threads = 0;  // of the multi-threaded executor; 0: rclcpp's default
  bool intra_process = false;
  PublishAs publish = PublishAs::const_ref;
  CallbackAs callback = CallbackAs::const_ref;
  bool bare_nodes = false;          // nodes without parameter services and rosout
  std::optional<bool> loaned_take;  // whether rclcpp may take messages in the memory of the
                                    // middleware; none: as installed
  bool layers = false;
  Calls calls = Calls::service;
  TopicQos topic_qos;
  std::optional<ImageCodec> images;  // through image_transport; none: as messages
  std::string
      congestion;  // "drop" or "block" if the mode congestion is set; empty: the RMW decides
  std::map<std::string, LifecycleTimes> lifecycle_nodes;  // the nodes of this process, by name
  Manages manages;
  uint64_t pool_bytes =
      0;  // of shared memory, which the RMW makes at its first large message; 0: it makes none
};

// The functions of the worker library; the symbol is `rmwbench_rclcpp_worker`.
struct WorkerLibrary {
  rmwbench_session *(*open)(const Settings &settings, rmwbench_error *error);
  const rmwbench_middleware *table;  // describe and session_open are NULL: the program has them
  // Whether the open session uses the file of its profile, as far as the RMW reports it.
  bool (*took_profiles)(const std::string &rmw, const std::string &path);
  // Prints the graph of a domain; returns the exit code of the program (worker/graph.hpp).
  int (*print_graph)(uint32_t domain_id);
};

}  // namespace rmwbench
