#include "options.hpp"

#include <iterator>
#include <sstream>

#include <rmwbench_fault.hpp>

namespace rmwbench {
namespace {

template <class T>
T one_of(const char *option, const std::string &value, const std::map<std::string, T> &known) {
  const auto found = known.find(value);
  if (found != known.end()) return found->second;
  std::string names;
  for (const auto &entry : known) names += (names.empty() ? "" : ", ") + entry.first;
  throw Fault{RMWBENCH_ERROR_INVALID, std::string("option ") + option,
              "expected one of " + names + ", found " + value};
}

// Parses `NAME=VALUE NAME=VALUE`; none of these values has a space.
std::vector<std::pair<std::string, std::string>> variables_of(const std::string &text) {
  std::vector<std::pair<std::string, std::string>> found;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (word.rfind("ROS_", 0) != 0 || equals == std::string::npos) {
      throw Fault{RMWBENCH_ERROR_INVALID, "option ros_variables",
                  "expected ROS_NAME=VALUE, several with a space between them, found " + word};
    }
    found.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return found;
}

uint32_t number_of(const std::string &object, const char *what, const std::string &text) {
  size_t read = 0;
  unsigned long found = 0;
  try {
    found = std::stoul(text, &read);
  } catch (const std::exception &) {
  }
  if (read == 0 || read != text.size() || found > UINT32_MAX) {
    throw Fault{RMWBENCH_ERROR_INVALID, object,
                std::string("expected a number of ") + what + ", found " + text};
  }
  return static_cast<uint32_t>(found);
}

uint32_t milliseconds_of(const char *option, const std::string &text) {
  return number_of(std::string("option ") + option, "milliseconds", text);
}

std::vector<std::string> words_of(const std::string &text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Parses `NAME:CONFIGURE_MS:ACTIVATE_MS NAME:…`.
std::map<std::string, LifecycleTimes> lifecycle_nodes_of(const std::string &text) {
  std::map<std::string, LifecycleTimes> found;
  for (const auto &word : words_of(text)) {
    const size_t first = word.find(':'), second = word.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      throw Fault{RMWBENCH_ERROR_INVALID, "option lifecycle_nodes",
                  "expected NAME:CONFIGURE_MS:ACTIVATE_MS, found " + word};
    }
    found[word.substr(0, first)] = {
        milliseconds_of("lifecycle_nodes", word.substr(first + 1, second - first - 1)),
        milliseconds_of("lifecycle_nodes", word.substr(second + 1))};
  }
  return found;
}

const std::map<std::string, bool> true_or_false = {{"true", true}, {"false", false}};

}  // namespace

// For a part of ROS 2 that this worker was built without.
#define RMWBENCH_BUILT_WITHOUT(package, install)      \
  "this worker was built in a ROS 2 without " package \
  "; install its package (ros-DISTRIBUTION-" install ") and build the worker again"

const char *no_lifecycle() {
#ifdef RMWBENCH_HAS_LIFECYCLE
  return nullptr;
#else
  return RMWBENCH_BUILT_WITHOUT("rclcpp_lifecycle", "rclcpp-lifecycle");
#endif
}

const char *no_image_transport() {
#ifdef RMWBENCH_HAS_IMAGE_TRANSPORT
  return nullptr;
#else
  return RMWBENCH_BUILT_WITHOUT("image_transport", "image-transport-plugins");
#endif
}

const char *no_actions() {
#ifdef RMWBENCH_HAS_ACTIONS
  return nullptr;
#else
  return RMWBENCH_BUILT_WITHOUT("rclcpp_action", "rclcpp-action");
#endif
}

Asked asked_of(const rmwbench_session_config &config) {
  Asked asked;
  Settings &settings = asked.settings;
  settings.domain_id = config.domain_id;
  for (size_t i = 0; i < config.mode_count; ++i)
    asked.modes[config.modes[i].name] = config.modes[i].value;
  const auto mode = [&](const char *name) {
    const auto found = asked.modes.find(name);
    return found == asked.modes.end() ? std::string() : found->second;
  };
  if (const std::string executor = mode("executor"); !executor.empty()) {
    static const std::map<std::string, Executor> kinds = {
        {"single_threaded", Executor::single_threaded},
        {"multi_threaded", Executor::multi_threaded},
        {"events", Executor::events},
        {"events_cbg", Executor::events_cbg},
        {"static", Executor::static_single_threaded},
    };
    settings.executor = one_of("executor", executor, kinds);
  }
  if (const std::string threads = mode("threads"); !threads.empty()) {
    if (settings.executor != Executor::multi_threaded &&
        settings.executor != Executor::events_cbg) {
      throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode threads",
                  "only the executors multi_threaded and events_cbg have a number of threads"};
    }
    settings.threads = number_of("mode threads", "threads", threads);
  }
  asked.secured = mode("security") == "true";
  asked.trial_nonce = config.trial_nonce;
  settings.congestion = mode("congestion");
  settings.intra_process = mode("transport") == "intra_process";
  // Within a process the message itself is passed on; between processes one message is filled again
  // and again, as a driver does.
  settings.publish = settings.intra_process ? PublishAs::unique_ptr : PublishAs::const_ref;
  for (size_t i = 0; i < config.option_count; ++i) {
    const std::string name = config.options[i].name, value = config.options[i].value;
    if (name == "publish") {
      settings.publish = one_of<PublishAs>(
          "publish", value,
          {{"const_ref", PublishAs::const_ref}, {"unique_ptr", PublishAs::unique_ptr}});
    } else if (name == "callback") {
      settings.callback = one_of<CallbackAs>("callback", value,
                                             {{"const_ref", CallbackAs::const_ref},
                                              {"shared_ptr", CallbackAs::shared_ptr},
                                              {"unique_ptr", CallbackAs::unique_ptr}});
    } else if (name == "calls") {
      settings.calls = one_of<Calls>("calls", value,
                                     {{"service", Calls::service},
                                      {"action", Calls::action},
                                      {"parameter", Calls::parameter}});
    } else if (name == "deadline_ms") {
      settings.topic_qos.deadline_ms = milliseconds_of("deadline_ms", value);
    } else if (name == "lifespan_ms") {
      settings.topic_qos.lifespan_ms = milliseconds_of("lifespan_ms", value);
    } else if (name == "liveliness") {
      settings.topic_qos.manual_liveliness =
          one_of<bool>("liveliness", value, {{"automatic", false}, {"manual_by_topic", true}});
    } else if (name == "liveliness_lease_ms") {
      settings.topic_qos.lease_ms = milliseconds_of("liveliness_lease_ms", value);
    } else if (name == "bare_nodes") {
      settings.bare_nodes = one_of("bare_nodes", value, true_or_false);
    } else if (name == "loaned_take") {
      settings.loaned_take = one_of("loaned_take", value, true_or_false);
    } else if (name == "image_transport") {
      static const std::map<std::string, ImageCodec> codecs = {{"raw", ImageCodec::raw},
                                                               {"jpeg", ImageCodec::jpeg},
                                                               {"png", ImageCodec::png},
                                                               {"zstd", ImageCodec::zstd}};
      settings.images = one_of("image_transport", value, codecs);
    } else if (name == "layers") {
      settings.layers = one_of("layers", value, true_or_false);
    } else if (name == "publish_mode") {
      settings.publish_mode =
          one_of<int32_t>("publish_mode", value,
                          {{"sync", RMWBENCH_PUBLISH_SYNC}, {"async", RMWBENCH_PUBLISH_ASYNC}});
    } else if (name == "qos_from_xml") {
      asked.qos_from_xml = one_of("qos_from_xml", value, true_or_false);
    } else if (name == "roudi_pools") {
      asked.roudi_pools = value;
    } else if (name == "ros_variables") {
      asked.ros_variables = variables_of(value);
      for (const auto &variable : asked.ros_variables) {
        if (variable.first == "ROS_DOMAIN_ID") settings.domain_id.reset();
      }
    } else if (name == "lifecycle_nodes") {
      settings.lifecycle_nodes = lifecycle_nodes_of(value);
    } else if (name == "manager") {
      settings.manages.manager = value;
    } else if (name == "manages") {
      settings.manages.nodes = words_of(value);
    } else if (name == "service_timeout_ms") {
      settings.manages.service_timeout_ms = milliseconds_of("service_timeout_ms", value);
    } else {
      throw Fault{RMWBENCH_ERROR_INVALID, "option " + name,
                  "known options: bare_nodes, callback, calls, deadline_ms, image_transport, "
                  "layers, lifecycle_nodes, lifespan_ms, liveliness, "
                  "liveliness_lease_ms, loaned_take, manager, manages, publish, publish_mode, "
                  "qos_from_xml, ros_variables, roudi_pools, service_timeout_ms"};
    }
  }
  if (no_lifecycle() != nullptr &&
      (!settings.lifecycle_nodes.empty() || !settings.manages.manager.empty())) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "lifecycle nodes", no_lifecycle()};
  }
  if (settings.calls == Calls::action && no_actions() != nullptr)
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option calls", no_actions()};
  if (settings.calls == Calls::parameter && settings.bare_nodes) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option calls",
                "parameter: a bare node has no parameters that it tells others of"};
  }
  if (settings.images && no_image_transport() != nullptr)
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option image_transport", no_image_transport()};
  if (settings.images && settings.intra_process) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option image_transport",
                "messages of the own process pass no transport"};
  }
  if (settings.images && settings.topic_qos.asked()) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option image_transport",
                "deadline, lifespan and liveliness: its endpoints do not tell their events"};
  }
  if (settings.topic_qos.asked() && settings.intra_process) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "mode transport",
                "intra_process: messages of the own process pass no RMW, which keeps deadlines, "
                "lifespans and liveliness"};
  }
  if (settings.images && settings.layers) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option image_transport",
                "layers: what passes rcl is not the image that was published"};
  }
  if (settings.layers && settings.intra_process) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "option layers",
                "messages of the own process do not pass rcl and rmw"};
  }
  return asked;
}

}  // namespace rmwbench
