#include "arm_settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <sstream>

#include <rmwbench_fault.hpp>

namespace rmwbench {
namespace {

struct Setting {
  std::string object;  // "mode transport", "option flow_controller"
  std::string value;

  [[noreturn]] void invalid(const std::string &expected) const {
    throw Fault{RMWBENCH_ERROR_INVALID, object, "expected " + expected + ", found " + value};
  }

  [[noreturn]] void unsupported(const std::string &reason) const {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object, reason};
  }

  template <typename Level>
  Level one_of(std::initializer_list<std::pair<const char *, Level>> levels) const {
    std::string names;
    for (const auto &level : levels) {
      if (value == level.first) return level.second;
      names += (names.empty() ? "" : ", ") + std::string(level.first);
    }
    // The harness has checked modes against the vocabulary: such a level exists for another
    // middleware.
    if (object.rfind("mode ", 0) == 0) unsupported(value + ": Fast DDS has one of " + names);
    invalid("one of " + names);
  }

  bool yes() const { return one_of<bool>({{"true", true}, {"false", false}}); }

  double number(double least, double most) const {
    char *end = nullptr;
    const double found = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(found >= least && found <= most)) {
      std::ostringstream range;
      range << "a number from " << static_cast<int64_t>(least) << " to "
            << static_cast<int64_t>(most);
      invalid(range.str());
    }
    return found;
  }

  uint32_t count(double least, double most = std::numeric_limits<int32_t>::max()) const {
    const double found = number(least, most);
    if (found != static_cast<double>(static_cast<uint32_t>(found))) invalid("a whole number");
    return static_cast<uint32_t>(found);
  }

  std::vector<std::string> words() const {
    std::istringstream stream(value);
    std::vector<std::string> all;
    for (std::string word; stream >> word;) all.push_back(word);
    return all;
  }

  // Parses "image:-5 status:3".
  std::map<std::string, std::string> by_topic(double least, double most) const {
    std::map<std::string, std::string> all;
    for (const std::string &word : words()) {
      const size_t colon = word.rfind(':');
      if (colon == std::string::npos) invalid("TOPIC:NUMBER, separated by spaces");
      const Setting number{object, word.substr(colon + 1)};
      number.number(least, most);
      all[word.substr(0, colon)] = number.value;
    }
    return all;
  }
};

using Take = std::function<void(const Setting &)>;

void take(const char *kind, const rmwbench_pair *pairs, size_t count,
          const std::map<std::string, Take> &known) {
  for (const rmwbench_pair *pair = pairs; pair != pairs + count; ++pair) {
    const Setting setting{std::string(kind) + " " + pair->name, pair->value};
    const auto found = known.find(pair->name);
    if (found == known.end()) {
      std::string names;
      for (const auto &each : known) names += (names.empty() ? "" : ", ") + each.first;
      throw Fault{RMWBENCH_ERROR_INVALID, setting.object,
                  std::string("Fast DDS's known ") + kind + "s: " + names};
    }
    found->second(setting);
  }
}

}  // namespace

ArmSettings::ArmSettings(const rmwbench_pair *modes, size_t mode_count,
                         const rmwbench_pair *options, size_t option_count) {
  const std::map<std::string, Take> known_modes{
      {"transport",
       [this](const Setting &s) {
         if (s.value == "unix")
           s.unsupported(
               "Fast DDS has no transport over Unix-domain sockets; it has udp, tcp, shm, "
               "intra_process");
         transport = s.one_of<Transport>({{"udp", Transport::udp},
                                          {"tcp", Transport::tcp},
                                          {"shm", Transport::shm},
                                          {"intra_process", Transport::intra_process}});
       }},
      {"discovery",
       [this](const Setting &s) {
         discovery = s.one_of<Discovery>({{"multicast", Discovery::multicast},
                                          {"peers", Discovery::peers},
                                          {"server", Discovery::server}});
       }},
      {"congestion",
       [this](const Setting &s) {
         congestion =
             s.one_of<Congestion>({{"drop", Congestion::drop}, {"block", Congestion::block}});
       }},
      {"shm_pool_bytes", [this](const Setting &s) { shm_pool_bytes = s.count(1); }},
      {"security", [this](const Setting &s) { security = s.yes(); }},
  };
  take("mode", modes, mode_count, known_modes);

  Flow asked_flow;
  std::string flow_detail;
  const std::map<std::string, Take> known_options{
      {"flow_controller",
       [&](const Setting &s) {
         asked_flow.scheduler =
             s.one_of<const char *>({{"FIFO", "FIFO"},
                                     {"ROUND_ROBIN", "ROUND_ROBIN"},
                                     {"HIGH_PRIORITY", "HIGH_PRIORITY"},
                                     {"PRIORITY_WITH_RESERVATION", "PRIORITY_WITH_RESERVATION"}});
       }},
      {"max_bytes_per_period",
       [&](const Setting &s) {
         asked_flow.max_bytes_per_period = static_cast<int32_t>(s.count(0)), flow_detail = s.object;
       }},
      {"flow_period_ms",
       [&](const Setting &s) { asked_flow.period_ms = s.count(1), flow_detail = s.object; }},
      {"flow_topics",
       [&](const Setting &s) { asked_flow.topics = s.words(), flow_detail = s.object; }},
      {"flow_priority",
       [&](const Setting &s) {
         asked_flow.priority = s.by_topic(-10, 10), flow_detail = s.object;
       }},
      {"flow_reservation",
       [&](const Setting &s) {
         asked_flow.reservation = s.by_topic(0, 100), flow_detail = s.object;
       }},
      {"data_sharing",
       [this](const Setting &s) {
         data_sharing = s.one_of<DataSharing>({{"off", DataSharing::off},
                                               {"on", DataSharing::on},
                                               {"auto", DataSharing::automatic}});
       }},
      {"plain_types", [this](const Setting &s) { plain_types = s.yes(); }},
      {"heartbeat_period_ms", [this](const Setting &s) { heartbeat_period_ms = s.number(0, 1e9); }},
      {"max_blocking_time_ms",
       [this](const Setting &s) { max_blocking_time_ms = s.number(0, 1e9); }},
      {"server_count", [this](const Setting &s) { server_count = s.count(1, 16); }},
      {"server_added_s", [this](const Setting &s) { server_added_s = s.number(0, 86400); }},
      {"server_added_by",
       [this](const Setting &s) {
         server_added_by_file = s.one_of<bool>({{"set_qos", false}, {"file", true}});
       }},
      {"max_samples", [this](const Setting &s) { max_samples = static_cast<int32_t>(s.count(1)); }},
      {"server_persistence", [this](const Setting &s) { server_persistence = s.yes(); }},
      {"peer_range", [this](const Setting &s) { peer_range = s.count(1, 120); }},
      {"reply_filter", [this](const Setting &s) { reply_filter = s.yes(); }},
      {"statistics", [this](const Setting &s) { statistics = s.yes(); }},
      {"unique_flows", [this](const Setting &s) { unique_flows = s.yes(); }},
      {"security_directory", [this](const Setting &s) { security_directory = s.value; }},
  };
  take("option", options, option_count, known_options);
  if (!asked_flow.scheduler.empty()) {
    flow = asked_flow;
  } else if (!flow_detail.empty()) {
    throw Fault{RMWBENCH_ERROR_INVALID, flow_detail,
                "it is a detail of a flow controller: say option flow_controller too"};
  }
}

}  // namespace rmwbench
