// The table that the harness calls, and what the worker tells of itself. Everything else is behind these one-line functions.

#include <rmwbench_worker.h>

#include "fastdds_api.hpp"
#include "fault.hpp"
#include "publisher.hpp"
#include "release.hpp"
#include "session.hpp"
#include "subscription.hpp"

namespace {

constexpr char no_filter[] = "no: Fast DDS filters typed fields, and this worker's type is raw CDR";
constexpr char no_key[] = "no: ROS 2 topics are keyless, and this worker's type is raw CDR";
constexpr char no_loan[] =
    "no: Fast DDS lends memory of plain, bounded types only, and 2.9.1's data-sharing reader crashes when it is overrun";
constexpr char no_zero_copy[] = "no: Fast DDS copies into the writer's history and out of the reader's; loans would avoid it";
constexpr char no_evidence[] = "no: Fast DDS does not tell which transport a message took";
constexpr char keep_all[] = "partly: at most resource_limits.max_samples messages (5000 as installed)";

const rmwbench_pair capability_list[] = {
    {"reliable", "yes"},       {"best_effort", "yes"},   {"keep_last", "yes"},     {"keep_all", keep_all},
    {"transient_local", "yes"}, {"loan", no_loan},        {"zero_copy", no_zero_copy}, {"block", "yes"},
    {"poll", "yes"},           {"callback", "yes"},      {"publish_sync", "yes"},  {"publish_async", "yes"},
    {"intra_process", "yes"},  {"inter_process", "yes"}, {"inter_host", "yes"},    {"content_filter", no_filter},
    {"instance_key", no_key},  {"evidence", no_evidence},
};

const rmwbench_pair build_facts[] = {
    {"source", RMWBENCH_FASTDDS_SOURCE},
    {"compiler", RMWBENCH_FASTDDS_COMPILER},
};

const rmwbench_description *describe() {
  static const rmwbench_description description{
      "fastdds",
      "native",
      RMWBENCH_FASTDDS_VERSION,
      rmwbench::release_date(RMWBENCH_FASTDDS_VERSION),
      build_facts,
      sizeof build_facts / sizeof *build_facts,
      capability_list,
      sizeof capability_list / sizeof *capability_list,
      nullptr,  // the profiles are embedded by the Rust side, where include_str! is at hand
      0,
  };
  return &description;
}

rmwbench_session *session_open(const rmwbench_session_config *config, rmwbench_error *error) {
  return rmwbench::guarded(error, [&] { return new rmwbench_session(*config); });
}

void session_close(rmwbench_session *session) { delete session; }

rmwbench_node *node_create(rmwbench_session *session, const char *, rmwbench_error *error) {
  return rmwbench::guarded(error, [&] { return new rmwbench_node{*session}; });
}

void node_destroy(rmwbench_node *node) { delete node; }

rmwbench_publisher *publisher_create(rmwbench_node *node, const rmwbench_endpoint_config *config, rmwbench_error *error) {
  return rmwbench::guarded(error, [&] { return new rmwbench_publisher(node->session, *config); });
}

void publisher_destroy(rmwbench_publisher *publisher) { delete publisher; }

rmwbench_status publish(rmwbench_publisher *publisher, const uint8_t *payload, size_t bytes) {
  try {
    return publisher->publish(payload, bytes);
  } catch (...) {
    return RMWBENCH_FAILED;
  }
}

uint32_t publisher_matched(rmwbench_publisher *publisher) { return publisher->matched(); }

void publisher_granted(rmwbench_publisher *publisher, rmwbench_granted *granted) { publisher->granted(*granted); }

void publisher_account(rmwbench_publisher *publisher, const rmwbench_account *account) { publisher->account(*account); }

rmwbench_subscription *subscription_create(rmwbench_node *node, const rmwbench_endpoint_config *config, const rmwbench_sink *sink,
                                           rmwbench_error *error) {
  return rmwbench::guarded(error, [&] { return new rmwbench_subscription(node->session, *config, *sink); });
}

void subscription_destroy(rmwbench_subscription *subscription) { delete subscription; }

uint32_t subscription_matched(rmwbench_subscription *subscription) { return subscription->matched(); }

void subscription_granted(rmwbench_subscription *subscription, rmwbench_granted *granted) { subscription->granted(*granted); }

void subscription_account(rmwbench_subscription *subscription, const rmwbench_account *account) { subscription->account(*account); }

}  // namespace

extern "C" const rmwbench_middleware rmwbench_fastdds_middleware = {
    RMWBENCH_ABI_VERSION,
    sizeof(rmwbench_middleware),
    describe,
    session_open,
    session_close,
    node_create,
    node_destroy,
    publisher_create,
    publisher_destroy,
    publish,
    nullptr,  // no loans: see no_loan
    nullptr,
    publisher_matched,
    publisher_granted,
    publisher_account,
    subscription_create,
    subscription_destroy,
    subscription_matched,
    subscription_granted,
    subscription_account,
};

// The sizes of the header's structs as this compiler sees them: the Rust side's test compares them with its own.
extern "C" const size_t rmwbench_fastdds_struct_bytes[] = {
    sizeof(rmwbench_error),    sizeof(rmwbench_pair),         sizeof(rmwbench_profile),
    sizeof(rmwbench_description), sizeof(rmwbench_session_config), sizeof(rmwbench_qos),
    sizeof(rmwbench_message_type), sizeof(rmwbench_endpoint_config), sizeof(rmwbench_delivery),
    sizeof(rmwbench_sink),     sizeof(rmwbench_granted),      sizeof(rmwbench_account),
};
