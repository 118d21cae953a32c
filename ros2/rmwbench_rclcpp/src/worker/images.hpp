// Images through image_transport, where the option of that name asks for it.
#pragma once

#include "registry.hpp"

namespace rmwbench {

// Whether these endpoints are images, which image_transport carries in this session.
bool through_image_transport(const rmwbench_node &node, const rmwbench_endpoint_config &config);

const TypeMaker &image_maker();

}  // namespace rmwbench
