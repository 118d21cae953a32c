#include "requests.hpp"

#include <rclcpp/exceptions.hpp>

namespace rmwbench {
namespace {

rmwbench_status send(void *context, const uint8_t *payload, size_t bytes) {
  try {
    return static_cast<Answer *>(context)->send(payload, bytes);
  } catch (const rclcpp::exceptions::RCLErrorBase &error) {
    return error.ret == RCL_RET_TIMEOUT ? RMWBENCH_TIMEOUT : RMWBENCH_FAILED;
  } catch (...) {
    return RMWBENCH_FAILED;
  }
}

}  // namespace

uint8_t *reply_message(void *context, size_t bytes) {
  try {
    return static_cast<Answer *>(context)->message(bytes);
  } catch (...) {  // no memory: `send` then fails and reports it
    return nullptr;
  }
}

void Requests::arrive(const uint8_t *payload, size_t bytes, Answer &answer) {
  // As for a message (inbox.cpp): both times are the beginning of the callback.
  const int64_t now_ns = rmwbench_now_ns();
  const Gate::Pass pass(gate_);
  if (!pass) return;
  const uint8_t nothing = 0;
  const rmwbench_delivery delivery{now_ns, now_ns, bytes == 0 ? &nothing : payload, bytes, 0, 0};
  const rmwbench_reply reply{&answer, send};
  handler_.handle(handler_.context, &delivery, &reply);
}

}  // namespace rmwbench
