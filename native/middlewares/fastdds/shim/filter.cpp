#include "filter.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>

#include <rmwbench_fault.hpp>

namespace rmwbench {
namespace {

// The magic number of the harness's header (native/harness/src/payload.rs).
constexpr uint32_t magic = 0x42574D52;
constexpr size_t header_bytes = 64, sequence_at = 16, phase_at = 48;
constexpr uint32_t probe = 0;

struct Filter : fd::IContentFilter {
  explicit Filter(std::shared_ptr<Tally> counts) : tally(std::move(counts)) {}
  virtual ~Filter() = default;
  virtual bool passes(const SerializedPayload &payload, const FilterSampleInfo &info) const = 0;

  bool evaluate(const SerializedPayload &payload, const FilterSampleInfo &info,
                const GUID_t &) const override {
    // Samples of one writer are evaluated one at a time, under the writer's lock.
    if (!tally->known.load(std::memory_order_relaxed)) {
      tally->writer = info.sample_identity.writer_guid();
      tally->known.store(true, std::memory_order_release);
    }
    const bool pass = passes(payload, info);
    tally->evaluated.fetch_add(1, std::memory_order_relaxed);
    if (!pass) tally->refused.fetch_add(1, std::memory_order_relaxed);
    return pass;
  }

  const std::shared_ptr<Tally> tally;
};

struct Percent : Filter {
  Percent(std::shared_ptr<Tally> counts, uint32_t some, size_t at)
      : Filter(std::move(counts)), percent(some), offset(at) {}

  bool passes(const SerializedPayload &payload, const FilterSampleInfo &) const override {
    if (payload.data == nullptr || payload.length < offset + header_bytes) return true;
    const uint8_t *header = payload.data + offset;
    uint32_t found, phase;
    uint64_t sequence;
    std::memcpy(&found, header, sizeof found);
    std::memcpy(&phase, header + phase_at, sizeof phase);
    std::memcpy(&sequence, header + sequence_at, sizeof sequence);
    if (found != magic || phase == probe) return true;
    const uint32_t mixed = static_cast<uint32_t>(sequence) * 2654435761u;
    return (static_cast<uint64_t>(mixed) * 100 >> 32) < percent;
  }

  const uint32_t percent;
  const size_t offset;
};

struct ReplyTo : Filter {
  ReplyTo(std::shared_ptr<Tally> counts, const rtps::GUID_t &to)
      : Filter(std::move(counts)), client(to) {}

  bool passes(const SerializedPayload &, const FilterSampleInfo &info) const override {
    return info.related_sample_identity.writer_guid() == client;
  }

  const rtps::GUID_t client;
};

// Returns whether `expression` is `percent < N`.
bool percent_of(const std::string &expression, uint32_t &percent) {
  std::istringstream words(expression);
  std::string name, sign, rest;
  return words >> name >> sign >> percent && name == "percent" && sign == "<" && percent <= 100 &&
         !(words >> rest);
}

}  // namespace

constexpr char Filters::class_name[];
thread_local const std::shared_ptr<Tally> *Filters::for_reader = nullptr;

void Filters::check(const std::string &expression, const std::string &object) {
  uint32_t percent;
  if (!percent_of(expression, percent)) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object,
                "content filter: expected `percent < N` with N from 0 to 100, found `" +
                    expression +
                    "`; Fast DDS's own language reads fields of typed samples, and this worker's "
                    "are raw CDR"};
  }
}

ReturnCode Filters::create_content_filter(const char *, const char *, const fd::TopicDataType *,
                                          const char *expression, const ParameterSeq &parameters,
                                          fd::IContentFilter *&instance) {
  const auto tally = for_reader != nullptr ? *for_reader : std::make_shared<Tally>();
  // An expression that does not change is announced again with its parameters alone.
  if (expression == nullptr || parameters.length() < 1) return ok;
  uint32_t percent;
  Filter *filter = nullptr;
  if (std::string(expression) == "reply to %0") {
    rtps::GUID_t client;
    std::istringstream words(parameters[0]);
    words >> client;
    filter = new ReplyTo(tally, client);
  } else if (percent_of(expression, percent)) {
    filter = new Percent(tally, percent, std::strtoul(parameters[0], nullptr, 10));
  } else {
    return bad_parameter;
  }
  delete static_cast<Filter *>(instance);
  instance = filter;
  std::lock_guard<std::mutex> lock(mutex_);
  tallies_.push_back(tally);
  return ok;
}

ReturnCode Filters::delete_content_filter(const char *, fd::IContentFilter *instance) {
  delete static_cast<Filter *>(instance);
  return ok;
}

bool Filters::at_writer(const rtps::GUID_t &writer, int64_t &evaluated, int64_t &refused) {
  bool any = false;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto &tally : tallies_) {
    if (tally->at_reader || !tally->known.load(std::memory_order_acquire) ||
        tally->writer != writer)
      continue;
    any = true;
    evaluated += tally->evaluated.load(std::memory_order_relaxed);
    refused += tally->refused.load(std::memory_order_relaxed);
  }
  return any;
}

}  // namespace rmwbench
