// Where requests arrive, by service or action, and how each is answered.
#pragma once

#include <rmwbench_worker.h>

#include "gate.hpp"

namespace rmwbench {

// The reply to one request.
class Answer {
 public:
  virtual ~Answer() = default;
  // The payload of the reply's own message, `bytes` long, or NULL if replies are not written in
  // place.
  virtual uint8_t *message(size_t) { return nullptr; }
  // An exception counts as a failed reply.
  virtual rmwbench_status send(const uint8_t *payload, size_t bytes) = 0;
};

// The function `reply_message` of the table.
uint8_t *reply_message(void *context, size_t bytes);

class Requests {
 public:
  explicit Requests(const rmwbench_handler &handler) : handler_(handler) {}

  void arrive(const uint8_t *payload, size_t bytes, Answer &answer);
  // After it returns, no request is handled or being handled: it waits for the callbacks that are
  // under way.
  void close() { gate_.close(); }

 private:
  const rmwbench_handler handler_;
  Gate gate_;
};

}  // namespace rmwbench
