#include "flow.hpp"

#include <algorithm>
#include <memory>

#include <fastdds/rtps/flowcontrol/FlowControllerDescriptor.hpp>
#include <fastdds/rtps/flowcontrol/FlowControllerSchedulerPolicy.hpp>

#include <rmwbench_fault.hpp>

#include "fastdds_api.hpp"

namespace rmwbench {
namespace {

constexpr char name[] = "rmwbench_flow";

transports::FlowControllerSchedulerPolicy policy(const std::string &scheduler) {
  using Policy = transports::FlowControllerSchedulerPolicy;
  if (scheduler == "ROUND_ROBIN") return Policy::ROUND_ROBIN;
  if (scheduler == "HIGH_PRIORITY") return Policy::HIGH_PRIORITY;
  if (scheduler == "PRIORITY_WITH_RESERVATION") return Policy::PRIORITY_WITH_RESERVATION;
  return Policy::FIFO;
}

void set_property(fd::DataWriterQos &qos, const char *property,
                  const std::map<std::string, std::string> &by_topic, const char *topic) {
  const auto found = by_topic.find(topic);
  if (found != by_topic.end()) qos.properties().properties().emplace_back(property, found->second);
}

}  // namespace

void apply_flow(const ArmSettings &settings, fd::DomainParticipantQos &qos) {
  if (!settings.flow) return;
  auto controller = std::make_shared<transports::FlowControllerDescriptor>();
  controller->name = name;
  controller->scheduler = policy(settings.flow->scheduler);
  controller->max_bytes_per_period = settings.flow->max_bytes_per_period;
  controller->period_ms = settings.flow->period_ms;
  qos.flow_controllers().push_back(controller);
}

void apply_flow(const ArmSettings &settings, const rmwbench_endpoint_config &config,
                fd::DataWriterQos &qos) {
  if (!settings.flow) return;
  const auto &topics = settings.flow->topics;
  if (!topics.empty() && std::find(topics.begin(), topics.end(), config.topic) == topics.end())
    return;
  if (config.publish_mode == RMWBENCH_PUBLISH_SYNC) {
    throw Fault{
        RMWBENCH_ERROR_INVALID, endpoint_name(config.endpoint),
        std::string("topic ") + config.topic +
            " goes through a flow controller, which schedules asynchronous writers only, "
            "and publish_mode is sync; say async, or name the topics in option flow_topics"};
  }
  qos.publish_mode().kind = fd::ASYNCHRONOUS_PUBLISH_MODE;
  qos.publish_mode().flow_controller_name = name;
  set_property(qos, "fastdds.sfc.priority", settings.flow->priority, config.topic);
  set_property(qos, "fastdds.sfc.bandwidth_reservation", settings.flow->reservation, config.topic);
}

}  // namespace rmwbench
