// Images through image_transport, if the option `image_transport` requests it.
#pragma once

#include "registry.hpp"

namespace rmwbench {

// Whether this endpoint's messages are images that image_transport carries in this session.
bool through_image_transport(const rmwbench_node &node, const rmwbench_endpoint_config &config);

const TypeMaker &image_maker();

}  // namespace rmwbench
