#include "spans.hpp"

#include <dlfcn.h>

#include <cstring>

#include <rmwbench_worker.h>

#include "layers/marks.hpp"

namespace rmwbench {
namespace {

using MarksOfThread = Marks *(*)();

// The return of a wait counts for all messages that it announced, even after a relay has published;
// the other marks belong to one message alone.
constexpr uint32_t of_wait = (1u << LAYER_RMW_WAIT_RETURN) | (1u << LAYER_RCL_WAIT_RETURN);

// The layers library is loaded before this one or never.
MarksOfThread marks_of_thread() {
  static const auto found =
      reinterpret_cast<MarksOfThread>(dlsym(RTLD_DEFAULT, "rmwbench_layers_marks"));
  return found;
}

// The message's identity; see docs/formats/records.md.
struct Identity {
  uint32_t magic;
  uint32_t writer;
  uint64_t nonce;
  uint64_t seq;
  uint8_t between[24];
  uint32_t phase;
  uint32_t touched;
  uint64_t check;
};
static_assert(sizeof(Identity) == 64, "the header has 64 bytes");

void write(const rmwbench_spans *section, const Marks &marks, const uint8_t *payload, size_t bytes,
           uint32_t first, uint32_t last) {
  Identity identity;
  if (bytes < sizeof identity) return;
  std::memcpy(&identity, payload, sizeof identity);
  if (identity.magic != 0x42574D52 || identity.phase == 0)
    return;  // not of this trial, or a probe: neither is recorded
  for (uint32_t layer = first; layer <= last; ++layer) {
    if (marks.set & (1u << layer)) {
      rmwbench_span(section, identity.writer, identity.seq, layer, marks.time_ns[layer]);
    }
  }
}

const rmwbench_spans *section_of(uint32_t endpoint) {
  return marks_of_thread() != nullptr ? rmwbench_spans_of(endpoint) : nullptr;
}

}  // namespace

PublishSpans::PublishSpans(uint32_t endpoint) : section_(section_of(endpoint)) {}

void PublishSpans::begin() const {
  if (section_ != nullptr) marks_of_thread()()->set &= of_wait;
}

void PublishSpans::end(const uint8_t *payload, size_t bytes) const {
  if (section_ == nullptr) return;
  Marks &marks = *marks_of_thread()();
  write(section_, marks, payload, bytes, LAYER_RCL_PUBLISH, LAYER_RCL_PUBLISH_RETURN);
  marks.set &= of_wait;
}

TakeSpans::TakeSpans(uint32_t endpoint) : section_(section_of(endpoint)) {}

void TakeSpans::take(const uint8_t *payload, size_t bytes) const {
  if (section_ == nullptr) return;
  Marks &marks = *marks_of_thread()();
  write(section_, marks, payload, bytes, LAYER_RMW_WAIT_RETURN, LAYER_RCL_TAKE_RETURN);
  marks.set &= of_wait;
}

}  // namespace rmwbench
