#include "qos.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include <rmwbench_fault.hpp>

#include "fastdds_api.hpp"
#include "filter.hpp"
#include "flow.hpp"

namespace rmwbench {
namespace {

// The most bytes that a history may reserve: plain types reserve every place of a history in full,
// before the first message.
constexpr size_t plain_history_bytes = size_t{512} << 20;

// Limits a plain type's memory: as installed, a keep_all history would reserve 5000 samples of
// megabytes.
template <typename Qos>
void reserve_plain(size_t bytes, Qos &qos) {
  const auto places = static_cast<int32_t>(std::max<size_t>(plain_history_bytes / bytes, 16));
  auto &limits = qos.resource_limits();
  int32_t needed = qos.history().depth;
  if (qos.history().kind == fd::KEEP_ALL_HISTORY_QOS) {
    if (limits.max_samples <= 0 || limits.max_samples > places) limits.max_samples = places;
    if (limits.max_samples_per_instance > limits.max_samples)
      limits.max_samples_per_instance = limits.max_samples;
    if (limits.max_samples < limits.max_instances * limits.max_samples_per_instance)
      limits.max_instances = 1;
    needed = limits.max_samples;
  }
  limits.allocated_samples = std::min({limits.allocated_samples, needed, places});
}

void share_data(const ArmSettings &settings, fd::DataSharingQosPolicy &policy) {
  if (!settings.data_sharing) return;
  switch (*settings.data_sharing) {
    case DataSharing::off:
      policy.off();
      break;
    case DataSharing::on:
      policy.on("");
      break;
    case DataSharing::automatic:
      policy.automatic();
      break;
  }
}

template <typename Qos>
void apply_common(const rmwbench_endpoint_config &config, const ArmSettings &settings,
                  size_t plain_bytes, Qos &qos) {
  const rmwbench_qos &requested = config.qos;
  const auto unsupported = [&](const char *message) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint), message};
  };
  if (requested.content_filter != nullptr)
    Filters::check(requested.content_filter, endpoint_name(config.endpoint));
  if (requested.instance_key != nullptr) {
    unsupported("instance key: ROS 2 topics are keyless, and this worker's type is raw CDR");
  }
  qos.reliability().kind = requested.reliability == RMWBENCH_RELIABLE
                               ? fd::RELIABLE_RELIABILITY_QOS
                               : fd::BEST_EFFORT_RELIABILITY_QOS;
  qos.durability().kind = requested.durability == RMWBENCH_TRANSIENT_LOCAL
                              ? fd::TRANSIENT_LOCAL_DURABILITY_QOS
                              : fd::VOLATILE_DURABILITY_QOS;
  if (requested.history == RMWBENCH_KEEP_ALL) {
    qos.history().kind = fd::KEEP_ALL_HISTORY_QOS;
  } else {
    const auto depth = static_cast<int32_t>(requested.depth);
    if (depth <= 0) {
      throw Fault{RMWBENCH_ERROR_INVALID, endpoint_name(config.endpoint),
                  "depth: keep_last needs from 1 to 2147483647"};
    }
    qos.history().kind = fd::KEEP_LAST_HISTORY_QOS;
    qos.history().depth = depth;
    // By default the limits are below a large depth (5000, 400 for an instance), and would silently
    // cut it.
    auto &limits = qos.resource_limits();
    if (limits.max_samples > 0) limits.max_samples = std::max(limits.max_samples, depth);
    if (limits.max_samples_per_instance > 0)
      limits.max_samples_per_instance = std::max(limits.max_samples_per_instance, depth);
  }
  if (plain_bytes > 0) {
    qos.endpoint().history_memory_policy = rtps::PREALLOCATED_MEMORY_MODE;
    reserve_plain(plain_bytes, qos);
    share_data(settings, qos.data_sharing());
  } else {
    // The same as rmw_fastrtps sets for every endpoint: unbounded types need memory that grows, and
    // data sharing does not accept them.
    qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    qos.data_sharing().off();
  }
}

template <typename Qos>
void tell_common(const Qos &qos, rmwbench_granted &granted) {
  granted.qos.reliability = qos.reliability().kind == fd::RELIABLE_RELIABILITY_QOS
                                ? RMWBENCH_RELIABLE
                                : RMWBENCH_BEST_EFFORT;
  granted.qos.durability = qos.durability().kind == fd::VOLATILE_DURABILITY_QOS
                               ? RMWBENCH_VOLATILE
                               : RMWBENCH_TRANSIENT_LOCAL;
  granted.qos.history =
      qos.history().kind == fd::KEEP_ALL_HISTORY_QOS ? RMWBENCH_KEEP_ALL : RMWBENCH_KEEP_LAST;
  granted.qos.depth = static_cast<uint32_t>(std::max(qos.history().depth, 0));
  if (granted.qos.history == RMWBENCH_KEEP_ALL && qos.resource_limits().max_samples > 0) {
    const std::string words = "keep_all holds at most " +
                              std::to_string(qos.resource_limits().max_samples) +
                              " messages (resource_limits.max_samples)";
    granted.note(granted.context, words.c_str());
  }
}

Duration seconds(double milliseconds) { return Duration(milliseconds / 1e3L); }

std::string milliseconds(const Duration &duration) {
  std::ostringstream words;
  words << static_cast<double>(duration.to_ns()) / 1e6;
  return words.str();
}

// 2.x has the reader's representation within its type consistency; 3.x has it separately.
#if RMWBENCH_FASTDDS_MAJOR >= 3
fd::DataRepresentationQosPolicy &representation(fd::DataReaderQos &qos) {
  return qos.representation();
}
#else
fd::DataRepresentationQosPolicy &representation(fd::DataReaderQos &qos) {
  return qos.type_consistency().representation;
}
#endif

}  // namespace

void apply(const rmwbench_endpoint_config &config, const ArmSettings &settings, size_t plain_bytes,
           fd::DataWriterQos &qos) {
  apply_common(config, settings, plain_bytes, qos);
  // The same as rmw_fastrtps, whose type support writes XCDR1.
  qos.representation().m_value.assign(1, fd::XCDR_DATA_REPRESENTATION);
  if (config.publish_mode == RMWBENCH_PUBLISH_SYNC)
    qos.publish_mode().kind = fd::SYNCHRONOUS_PUBLISH_MODE;
  if (config.publish_mode == RMWBENCH_PUBLISH_ASYNC)
    qos.publish_mode().kind = fd::ASYNCHRONOUS_PUBLISH_MODE;
  apply_flow(settings, config, qos);
  apply_times(settings, qos);
}

void apply_times(const ArmSettings &settings, fd::DataWriterQos &qos) {
  if (settings.heartbeat_period_ms) {
    auto &times = qos.reliable_writer_qos().times;
#if RMWBENCH_FASTDDS_MAJOR >= 3
    times.heartbeat_period = seconds(*settings.heartbeat_period_ms);
#else
    times.heartbeatPeriod = seconds(*settings.heartbeat_period_ms);
#endif
  }
  // The limit of a keep_all history; a keep_last history has its depth. The limit of one instance
  // is the whole limit: ROS 2's topics have no keys.
  if (settings.max_samples && qos.history().kind == fd::KEEP_ALL_HISTORY_QOS) {
    auto &limits = qos.resource_limits();
    limits.max_samples = limits.max_samples_per_instance = *settings.max_samples;
    limits.max_instances = 1;
    limits.allocated_samples = std::min(limits.allocated_samples, *settings.max_samples);
  }
  if (settings.max_blocking_time_ms)
    qos.reliability().max_blocking_time = seconds(*settings.max_blocking_time_ms);
}

void apply(const rmwbench_endpoint_config &config, const ArmSettings &settings, size_t plain_bytes,
           fd::DataReaderQos &qos) {
  apply_common(config, settings, plain_bytes, qos);
  representation(qos).m_value.assign(1, fd::XCDR_DATA_REPRESENTATION);
  if (settings.unique_flows)
    qos.properties().properties().emplace_back("fastdds.unique_network_flows", "");
}

void tell(const fd::DataWriterQos &qos, const ArmSettings &settings, rmwbench_granted &granted) {
  tell_common(qos, granted);
  if (granted.qos.reliability == RMWBENCH_RELIABLE) {
    granted.when_full = granted.qos.history == RMWBENCH_KEEP_ALL
                            ? RMWBENCH_FULL_BLOCKS
                            : RMWBENCH_FULL_OVERWRITES_AT_WRITER;
  }
  const auto note = [&](const std::string &words) { granted.note(granted.context, words.c_str()); };
  const bool async = qos.publish_mode().kind == fd::ASYNCHRONOUS_PUBLISH_MODE;
  granted.publish_mode = async ? RMWBENCH_PUBLISH_ASYNC : RMWBENCH_PUBLISH_SYNC;
  note(async ? "asynchronous publishing: the call returns when the message is queued for Fast "
               "DDS's own thread"
             : "synchronous publishing: the call returns when the message was handed to the "
               "transport (Fast DDS's default, and "
               "rmw_fastrtps's since Humble; before that rmw_fastrtps published asynchronously)");
  if (async && granted.qos.history == RMWBENCH_KEEP_LAST) {
    note("asynchronous with keep_last " + std::to_string(granted.qos.depth) +
         ": what Fast DDS's thread has not sent yet is pushed out of "
         "the history by later messages, and lost, also where it is reliable");
  }
  if (settings.flow && async) {
    const Flow &flow = *settings.flow;
    note("flow controller " + std::string(qos.publish_mode().flow_controller_name) + ": " +
         flow.scheduler + ", " +
         (flow.max_bytes_per_period == 0
              ? std::string("no limit")
              : "at most " + std::to_string(flow.max_bytes_per_period) + " bytes in each " +
                    std::to_string(flow.period_ms) + " ms"));
  }
  if (settings.heartbeat_period_ms) {
#if RMWBENCH_FASTDDS_MAJOR >= 3
    const auto &period = qos.reliable_writer_qos().times.heartbeat_period;
#else
    const auto &period = qos.reliable_writer_qos().times.heartbeatPeriod;
#endif
    note("heartbeat period " + milliseconds(period) + " ms");
  }
  if (settings.max_blocking_time_ms ||
      (granted.qos.history == RMWBENCH_KEEP_ALL && granted.qos.reliability == RMWBENCH_RELIABLE)) {
    note("a full history blocks a publish call for at most " +
         milliseconds(qos.reliability().max_blocking_time) + " ms (max_blocking_time)");
  }
}

void tell(const fd::DataReaderQos &qos, const ArmSettings &, rmwbench_granted &granted) {
  tell_common(qos, granted);
  const bool holds =
      granted.qos.history == RMWBENCH_KEEP_ALL && granted.qos.reliability == RMWBENCH_RELIABLE;
  granted.when_full = holds ? RMWBENCH_FULL_BLOCKS : RMWBENCH_FULL_DROPS_AT_READER;
}

}  // namespace rmwbench
