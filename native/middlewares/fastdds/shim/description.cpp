#include "description.hpp"

#include "fastdds_api.hpp"
#include "release.hpp"

namespace rmwbench {
namespace {

constexpr char filter[] =
    "partly: `percent < N`, by a filter class of this worker; Fast DDS's own language reads fields "
    "of typed samples";
constexpr char no_key[] = "no: ROS 2 topics are keyless, and this worker's type is raw CDR";
constexpr char loan[] = "partly: of plain types: profile data_sharing, or option plain_types";
constexpr char zero_copy[] =
    "partly: in data sharing, between processes of one host: profile data_sharing, or option "
    "data_sharing";
constexpr char evidence[] =
    "partly: what is read in a data-sharing segment is counted; Fast DDS does not tell which "
    "transport a message took";
constexpr char keep_all[] =
    "partly: at most resource_limits.max_samples messages (5000 as installed)";

const rmwbench_pair capabilities[] = {
    {"reliable", "yes"},        {"best_effort", "yes"},     {"keep_last", "yes"},
    {"keep_all", keep_all},     {"transient_local", "yes"}, {"loan", loan},
    {"zero_copy", zero_copy},   {"block", "yes"},           {"poll", "yes"},
    {"callback", "yes"},        {"publish_sync", "yes"},    {"publish_async", "yes"},
    {"intra_process", "yes"},   {"inter_process", "yes"},   {"inter_host", "yes"},
    {"content_filter", filter}, {"instance_key", no_key},   {"services", "yes"},
    {"evidence", evidence},
};

#if HAVE_SECURITY
constexpr char security[] = "true|false";
#else
constexpr char security[] = "no: this Fast DDS was built without DDS-Security (HAVE_SECURITY 0)";
#endif

const rmwbench_pair modes[] = {
    {"transport", "udp|tcp|shm|intra_process"},
    {"congestion", "drop|block"},
    {"shm_pool_bytes", "N"},
    {"discovery", "multicast|peers|server"},
    {"security", security},
    {"compression", "no: Fast DDS compresses nothing"},
    {"batching",
     "no: Fast DDS has no switch for it; a writer sends each sample in a message of its own, and "
     "an asynchronous one gathers "
     "what waits (option flow_controller)"},
    {"threads",
     "no: Fast DDS opens a thread for each socket and shared-memory port, and one for events; "
     "their number cannot be set"},
    {"executor", "no: Fast DDS has no executor; `wait` says how a subscription learns of data"},
};

// The last one is left out if it is not known.
const rmwbench_pair build_facts[] = {
    {"source", RMWBENCH_FASTDDS_SOURCE},
    {"compiler", RMWBENCH_FASTDDS_COMPILER},
    {"end_of_life", end_of_life(RMWBENCH_FASTDDS_VERSION)},
};

template <typename Item, size_t count>
constexpr size_t size(const Item (&)[count]) {
  return count;
}

}  // namespace

const rmwbench_description *description() {
  static const rmwbench_description description{
      "fastdds",
      "native",
      RMWBENCH_FASTDDS_VERSION,
      release_date(RMWBENCH_FASTDDS_VERSION),
      build_facts,
      size(build_facts) - (*end_of_life(RMWBENCH_FASTDDS_VERSION) == '\0' ? 1 : 0),
      capabilities,
      size(capabilities),
      nullptr,
      0,
      modes,
      size(modes),
  };
  return &description;
}

}  // namespace rmwbench
