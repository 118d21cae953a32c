// Where requests arrive, whatever brings them, and how each is answered.
#pragma once

#include <rmwbench_worker.h>

#include "gate.hpp"

namespace rmwbench {

// The reply to one request.
class Answer {
 public:
  virtual ~Answer() = default;
  // The payload of its own message, `bytes` long, or NULL where nothing is written in place.
  virtual uint8_t *message(size_t) { return nullptr; }
  // Whatever it throws counts as failed.
  virtual rmwbench_status send(const uint8_t *payload, size_t bytes) = 0;
};

// The table's function of that name.
uint8_t *reply_message(void *context, size_t bytes);

class Requests {
 public:
  explicit Requests(const rmwbench_handler &handler) : handler_(handler) {}

  void arrive(const uint8_t *payload, size_t bytes, Answer &answer);
  // After it nothing is handled, and nothing is being handled: waits for the callbacks that are
  // under way.
  void close() { gate_.close(); }

 private:
  const rmwbench_handler handler_;
  Gate gate_;
};

}  // namespace rmwbench
