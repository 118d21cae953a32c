#include "publish_mode.hpp"

#include <cstdlib>
#include <mutex>

#include "fault.hpp"

#ifdef RMWBENCH_WITH_FASTRTPS
#include <rmw_fastrtps_cpp/get_publisher.hpp>
#endif
#ifdef RMWBENCH_WITH_FASTRTPS_DYNAMIC
#include <rmw_fastrtps_dynamic_cpp/get_publisher.hpp>
#endif
#if defined(RMWBENCH_WITH_FASTRTPS) || defined(RMWBENCH_WITH_FASTRTPS_DYNAMIC)
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#define RMWBENCH_READS_FASTDDS 1
#endif

namespace rmwbench {
namespace {

constexpr char variable[] = "RMW_FASTRTPS_PUBLICATION_MODE";

bool is_fastrtps(const std::string &rmw) { return rmw.rfind("rmw_fastrtps", 0) == 0; }

#ifdef RMWBENCH_READS_FASTDDS
eprosima::fastdds::dds::DataWriter *writer_of(rmw_publisher_t *publisher) {
  eprosima::fastdds::dds::DataWriter *writer = nullptr;
#ifdef RMWBENCH_WITH_FASTRTPS
  writer = rmw_fastrtps_cpp::get_datawriter(publisher);
#endif
#ifdef RMWBENCH_WITH_FASTRTPS_DYNAMIC
  if (writer == nullptr) writer = rmw_fastrtps_dynamic_cpp::get_datawriter(publisher);
#endif
  return writer;
}
#endif

PublishModeFound of_fastrtps(const rclcpp::PublisherBase &publisher) {
#ifdef RMWBENCH_READS_FASTDDS
  rmw_publisher_t *handle = rcl_publisher_get_rmw_handle(publisher.get_publisher_handle().get());
  if (auto *writer = writer_of(handle)) {
    const bool async = writer->get_qos().publish_mode().kind == eprosima::fastdds::dds::ASYNCHRONOUS_PUBLISH_MODE;
    return {async ? RMWBENCH_PUBLISH_ASYNC : RMWBENCH_PUBLISH_SYNC,
            std::string("publish mode: ") + (async ? "asynchronous" : "synchronous") + ", read from Fast DDS's writer"};
  }
#endif
  (void)publisher;
  const char *set = std::getenv(variable);
  const bool async = set != nullptr && std::string(set) == "ASYNCHRONOUS";
  return {async ? RMWBENCH_PUBLISH_ASYNC : RMWBENCH_PUBLISH_SYNC,
          std::string("publish mode: as ") + variable + " says or by default; not read back, this worker was built without rmw_fastrtps"};
}

}  // namespace

PublishModeFound publish_mode_of(const rclcpp::PublisherBase &publisher, const std::string &rmw) {
  if (is_fastrtps(rmw)) return of_fastrtps(publisher);
  if (rmw == "rmw_cyclonedds_cpp") return {RMWBENCH_PUBLISH_SYNC, "publish mode: Cyclone DDS sends in the publishing thread, it has no other way"};
  if (rmw == "rmw_zenoh_cpp") return {RMWBENCH_PUBLISH_ASYNC, "publish mode: Zenoh's put hands the message to the link's sending task, it has no other way"};
  return {RMWBENCH_PUBLISH_DEFAULT, "publish mode: not known of this RMW"};
}

rclcpp::Node::SharedPtr with_asynchronous_publishing(rmwbench_node &node, const std::string &object) {
  const Settings &settings = node.session.settings;
  if (!is_fastrtps(settings.rmw)) return node.node;  // its one way is compared with what was asked once the publisher exists
  if (settings.intra_process) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object, "publish_mode async: messages of the own process pass no writer of the middleware"};
  }
  // rmw_fastrtps reads the variable when a context makes its participant, which is at its first node.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  const char *set = std::getenv(variable);
  const std::string before = set != nullptr ? set : "";
  setenv(variable, "ASYNCHRONOUS", 1);
  struct Restore {
    const std::string &before;
    ~Restore() { before.empty() ? unsetenv(variable) : setenv(variable, before.c_str(), 1); }
  } restore{before};
  return node.asynchronous();
}

}  // namespace rmwbench
