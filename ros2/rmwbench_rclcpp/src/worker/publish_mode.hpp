// Synchronous or asynchronous publishing, by each RMW's own means.
//
// rmw_fastrtps has it per participant, from RMW_FASTRTPS_PUBLICATION_MODE: an asynchronous
// publisher lives in a context of its own that is made under that variable, and the mode is read
// back from the writer. The others have one way only.
#pragma once

#include <string>

#include <rclcpp/rclcpp.hpp>

#include "session.hpp"

namespace rmwbench {

struct PublishModeFound {
  int32_t mode;  // RMWBENCH_PUBLISH_…
  std::string note;
};

PublishModeFound publish_mode_of(const rclcpp::PublisherBase &publisher, const std::string &rmw);

// The node's double in which publishers are asynchronous. Throws Fault where the RMW cannot do it.
rclcpp::Node::SharedPtr with_asynchronous_publishing(rmwbench_node &node,
                                                     const std::string &object);

}  // namespace rmwbench
