// What Fast DDS's own writer says of its publish mode. A library of its own for each variant of
// rmw_fastrtps, loaded only where that is the RMW: linked into the worker it would bring rmw's
// functions into every process, before those that choose the RMW.

#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>

#include RMWBENCH_GET_PUBLISHER

// 1: asynchronous, 0: synchronous, -1: not a publisher of this RMW.
extern "C" __attribute__((visibility("default"))) int rmwbench_fastrtps_publishes_asynchronously(
    rmw_publisher_t *publisher) {
  const auto *writer = RMWBENCH_RMW::get_datawriter(publisher);
  if (writer == nullptr) return -1;
  return writer->get_qos().publish_mode().kind == eprosima::fastdds::dds::ASYNCHRONOUS_PUBLISH_MODE
             ? 1
             : 0;
}
