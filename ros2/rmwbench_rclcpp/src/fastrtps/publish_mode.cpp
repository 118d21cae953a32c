// The publish mode that Fast DDS's own writer reports. Each variant of rmw_fastrtps has a library
// of its own, loaded only with that RMW: if it were linked into the worker, it would bring rmw's
// functions into every process, before those that choose the RMW.

#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>

#include RMWBENCH_GET_PUBLISHER

// Returns 1: asynchronous, 0: synchronous, -1: not a publisher of this RMW.
extern "C" __attribute__((visibility("default"))) int rmwbench_fastrtps_publishes_asynchronously(
    rmw_publisher_t *publisher) {
  const auto *writer = RMWBENCH_RMW::get_datawriter(publisher);
  if (writer == nullptr) return -1;
  return writer->get_qos().publish_mode().kind == eprosima::fastdds::dds::ASYNCHRONOUS_PUBLISH_MODE
             ? 1
             : 0;
}
