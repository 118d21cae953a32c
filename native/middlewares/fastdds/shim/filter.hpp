// Content filters. Fast DDS's own language reads fields of typed samples, and our samples are raw,
// so the worker registers a filter class of its own, which Fast DDS treats as it does its own: the
// reader announces it, and a writer that knows the class filters before it sends. Two expressions:
// `percent < N` of the harness's header (worker-protocol.md), and `reply to GUID` for the replies
// of a service.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fastdds/dds/topic/IContentFilter.hpp>
#include <fastdds/dds/topic/IContentFilterFactory.hpp>

#include "fastdds_api.hpp"

namespace rmwbench {

// What one filter decided, on the side where it stands.
struct Tally {
  bool at_reader = false;
  rtps::GUID_t writer;  // at the writer: whose samples; known with the first
  std::atomic<bool> known{false};
  std::atomic<int64_t> evaluated{0}, refused{0};
};

class Filters : public fd::IContentFilterFactory {
 public:
  static constexpr char class_name[] = "rmwbench";

  // Throws Fault where `expression` is not `percent < N`. `object` names whose it is.
  static void check(const std::string &expression, const std::string &object);

  ReturnCode create_content_filter(const char *, const char *, const fd::TopicDataType *,
                                   const char *expression, const ParameterSeq &parameters,
                                   fd::IContentFilter *&instance) override;
  ReturnCode delete_content_filter(const char *, fd::IContentFilter *instance) override;

  // Fast DDS does not say for which side it makes a filter. While `make` runs, this thread makes
  // the reader's.
  template <typename Make>
  std::shared_ptr<Tally> of_reader(Make make) {
    const auto tally = std::make_shared<Tally>();
    tally->at_reader = true;
    for_reader = &tally;
    make();
    for_reader = nullptr;
    return tally;
  }

  // Sums over the filters of remote readers that saw samples of `writer`: evaluated, refused. False
  // when there were none.
  bool at_writer(const rtps::GUID_t &writer, int64_t &evaluated, int64_t &refused);

 private:
  static thread_local const std::shared_ptr<Tally> *for_reader;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Tally>> tallies_;  // kept when their reader leaves: they are counters
};

}  // namespace rmwbench
