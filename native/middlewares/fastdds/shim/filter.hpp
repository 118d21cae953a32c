// Content filters. Fast DDS's own language reads fields of typed samples, and this worker's samples
// are raw, so the worker registers a filter class of its own, which Fast DDS treats as its own
// class: the reader announces it, and a writer that knows the class filters before it sends. There
// are two expressions: `percent < N` of the harness's header (worker-protocol.md), and `reply to
// GUID` for the replies of a service.
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

// The decisions of one filter, on the side where it is.
struct Tally {
  bool at_reader = false;
  rtps::GUID_t writer;  // at the writer: the samples' writer, known with the first sample
  std::atomic<bool> known{false};
  std::atomic<int64_t> evaluated{0}, refused{0};
};

class Filters : public fd::IContentFilterFactory {
 public:
  static constexpr char class_name[] = "rmwbench";

  // Throws Fault if `expression` is not `percent < N`. `object` names its endpoint.
  static void check(const std::string &expression, const std::string &object);

  ReturnCode create_content_filter(const char *, const char *, const fd::TopicDataType *,
                                   const char *expression, const ParameterSeq &parameters,
                                   fd::IContentFilter *&instance) override;
  ReturnCode delete_content_filter(const char *, fd::IContentFilter *instance) override;

  // Fast DDS does not tell a filter on which side it is. While `make` runs, this thread makes the
  // reader's filters.
  template <typename Make>
  std::shared_ptr<Tally> of_reader(Make make) {
    const auto tally = std::make_shared<Tally>();
    tally->at_reader = true;
    for_reader = &tally;
    make();
    for_reader = nullptr;
    return tally;
  }

  // Sums over the filters of remote readers that evaluated samples of `writer`: evaluated, refused.
  // Returns false if there are none.
  bool at_writer(const rtps::GUID_t &writer, int64_t &evaluated, int64_t &refused);

 private:
  static thread_local const std::shared_ptr<Tally> *for_reader;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Tally>> tallies_;  // kept after their reader leaves
};

}  // namespace rmwbench
