#include "qos.hpp"

#include <algorithm>
#include <string>

#include "fastdds_api.hpp"
#include "fault.hpp"

namespace rmwbench {
namespace {

template <typename Qos>
void apply_common(const rmwbench_endpoint_config &config, Qos &qos) {
  const rmwbench_qos &asked = config.qos;
  const auto unsupported = [&](const char *message) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, endpoint_name(config.endpoint), message};
  };
  if (asked.content_filter != nullptr) {
    unsupported("content filter: Fast DDS filters typed fields, and this worker's type is raw CDR");
  }
  if (asked.instance_key != nullptr) {
    unsupported("instance key: ROS 2 topics are keyless, and this worker's type is raw CDR");
  }
  qos.reliability().kind =
      asked.reliability == RMWBENCH_RELIABLE ? fd::RELIABLE_RELIABILITY_QOS : fd::BEST_EFFORT_RELIABILITY_QOS;
  qos.durability().kind =
      asked.durability == RMWBENCH_TRANSIENT_LOCAL ? fd::TRANSIENT_LOCAL_DURABILITY_QOS : fd::VOLATILE_DURABILITY_QOS;
  if (asked.history == RMWBENCH_KEEP_ALL) {
    qos.history().kind = fd::KEEP_ALL_HISTORY_QOS;
  } else {
    const auto depth = static_cast<int32_t>(asked.depth);
    if (depth <= 0) {
      throw Fault{RMWBENCH_ERROR_INVALID, endpoint_name(config.endpoint), "depth: keep_last needs from 1 to 2147483647"};
    }
    qos.history().kind = fd::KEEP_LAST_HISTORY_QOS;
    qos.history().depth = depth;
    // The limits are below a large depth by default (5000, 400 for an instance), and would silently cut it.
    auto &limits = qos.resource_limits();
    if (limits.max_samples > 0) limits.max_samples = std::max(limits.max_samples, depth);
    if (limits.max_samples_per_instance > 0) limits.max_samples_per_instance = std::max(limits.max_samples_per_instance, depth);
  }
  // The next three as rmw_fastrtps sets them for every endpoint: unbounded types need memory that grows, data sharing does not
  // take them, and its type support writes XCDR1.
  qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  qos.data_sharing().off();
}

template <typename Qos>
void tell_common(const Qos &qos, rmwbench_granted &granted) {
  granted.qos.reliability = qos.reliability().kind == fd::RELIABLE_RELIABILITY_QOS ? RMWBENCH_RELIABLE : RMWBENCH_BEST_EFFORT;
  granted.qos.durability =
      qos.durability().kind == fd::VOLATILE_DURABILITY_QOS ? RMWBENCH_VOLATILE : RMWBENCH_TRANSIENT_LOCAL;
  granted.qos.history = qos.history().kind == fd::KEEP_ALL_HISTORY_QOS ? RMWBENCH_KEEP_ALL : RMWBENCH_KEEP_LAST;
  granted.qos.depth = static_cast<uint32_t>(std::max(qos.history().depth, 0));
  if (granted.qos.history == RMWBENCH_KEEP_ALL && qos.resource_limits().max_samples > 0) {
    const std::string words = "keep_all holds at most " + std::to_string(qos.resource_limits().max_samples) +
                              " messages (resource_limits.max_samples)";
    granted.note(granted.context, words.c_str());
  }
}

// 2.x keeps the reader's representation within its type consistency; 3.x beside it.
#if RMWBENCH_FASTDDS_MAJOR >= 3
fd::DataRepresentationQosPolicy &representation(fd::DataReaderQos &qos) { return qos.representation(); }
#else
fd::DataRepresentationQosPolicy &representation(fd::DataReaderQos &qos) { return qos.type_consistency().representation; }
#endif

}  // namespace

void apply(const rmwbench_endpoint_config &config, fd::DataWriterQos &qos) {
  apply_common(config, qos);
  qos.representation().m_value.assign(1, fd::XCDR_DATA_REPRESENTATION);
  if (config.publish_mode == RMWBENCH_PUBLISH_SYNC) qos.publish_mode().kind = fd::SYNCHRONOUS_PUBLISH_MODE;
  if (config.publish_mode == RMWBENCH_PUBLISH_ASYNC) qos.publish_mode().kind = fd::ASYNCHRONOUS_PUBLISH_MODE;
}

void apply(const rmwbench_endpoint_config &config, fd::DataReaderQos &qos) {
  apply_common(config, qos);
  representation(qos).m_value.assign(1, fd::XCDR_DATA_REPRESENTATION);
}

void tell(const fd::DataWriterQos &qos, rmwbench_granted &granted) {
  tell_common(qos, granted);
  const bool async = qos.publish_mode().kind == fd::ASYNCHRONOUS_PUBLISH_MODE;
  granted.publish_mode = async ? RMWBENCH_PUBLISH_ASYNC : RMWBENCH_PUBLISH_SYNC;
  granted.note(granted.context, async ? "asynchronous publishing: the call returns when the message is queued for Fast DDS's own thread"
                                      : "synchronous publishing: the call returns when the message was handed to the transport (Fast "
                                        "DDS's default, and rmw_fastrtps's since Humble; before that rmw_fastrtps published asynchronously)");
  if (granted.qos.history == RMWBENCH_KEEP_ALL && granted.qos.reliability == RMWBENCH_RELIABLE) {
    const double ms = static_cast<double>(qos.reliability().max_blocking_time.to_ns()) / 1e6;
    const std::string words = "a full history blocks a publish call for at most " + std::to_string(ms) + " ms (max_blocking_time)";
    granted.note(granted.context, words.c_str());
  }
}

void tell(const fd::DataReaderQos &qos, rmwbench_granted &granted) { tell_common(qos, granted); }

}  // namespace rmwbench
