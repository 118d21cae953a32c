// Where requests arrive, whatever brings them, and how each is answered.
#pragma once

#include <functional>

#include <rmwbench_worker.h>

#include "gate.hpp"

namespace rmwbench {

// Sends the reply to one request; whatever it throws counts as failed.
using Answer = std::function<rmwbench_status(const uint8_t *payload, size_t bytes)>;

class Requests {
 public:
  explicit Requests(const rmwbench_handler &handler) : handler_(handler) {}

  void arrive(const uint8_t *payload, size_t bytes, const Answer &answer);
  // After it nothing is handled, and nothing is being handled: waits for the callbacks that are
  // under way.
  void close() { gate_.close(); }

 private:
  const rmwbench_handler handler_;
  Gate gate_;
};

}  // namespace rmwbench
