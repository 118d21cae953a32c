// Calls as actions, if the option `calls` requests them: a request is a goal, and its reply is the
// goal's result.
#pragma once

#include "endpoints.hpp"

namespace rmwbench {

rmwbench_client *make_action_client(rmwbench_node &node, const rmwbench_endpoint_config &config,
                                    const rmwbench_sink &sink);
rmwbench_service *make_action_server(rmwbench_node &node, const rmwbench_endpoint_config &config,
                                     const rmwbench_handler &handler);

}  // namespace rmwbench
