#include "graph.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <rclcpp/node_interfaces/node_base.hpp>
#include <rclcpp/node_interfaces/node_graph.hpp>
#include <rclcpp/rclcpp.hpp>

namespace rmwbench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Discovery has no end: the graph is read when it has not changed for SETTLED, or after MOST.
constexpr auto SETTLED = 1s, MOST = 10s;
constexpr auto BETWEEN_LOOKS = 100ms;
constexpr char NAME[] = "_rmwbench_graph";

// Reads the graph through a bare node: `rclcpp::Node` has endpoints of its own, whatever its
// options.
class Reader {
 public:
  explicit Reader(uint32_t domain_id) : context_(std::make_shared<rclcpp::Context>()) {
    rclcpp::InitOptions init;
    init.shutdown_on_signal = false;
    init.set_domain_id(domain_id);
    context_->init(0, nullptr, init);
    rclcpp::NodeOptions options;
    options.context(context_);
    options.use_global_arguments(false);
    options.enable_rosout(false);
    base_ = std::make_shared<rclcpp::node_interfaces::NodeBase>(
        NAME, "", context_, *options.get_rcl_node_options(), false, false);
    graph_ = std::make_unique<rclcpp::node_interfaces::NodeGraph>(base_.get());
  }

  ~Reader() {
    graph_.reset();
    base_.reset();
    context_->shutdown("the graph was read");
  }

  // The graph as JSON, always in the same order; empty if there is no node.
  std::string look() const;

 private:
  rclcpp::Context::SharedPtr context_;
  std::shared_ptr<rclcpp::node_interfaces::NodeBase> base_;
  std::unique_ptr<rclcpp::node_interfaces::NodeGraph> graph_;
};

std::string quoted(const std::string &text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return all + "\"";
}

struct Node {
  std::multimap<std::string, std::string> publishers, subscriptions;  // topic, as JSON
};
using Nodes = std::map<std::string, Node>;

template <typename Endpoints>
void add(Nodes &nodes, const std::string &topic,
         const std::vector<rclcpp::TopicEndpointInfo> &found, Endpoints endpoints) {
  for (const auto &one : found) {
    const std::string &space = one.node_namespace();
    const rmw_qos_profile_t qos = one.qos_profile().get_rmw_qos_profile();
    // The integers of rmw are those of rosgraph_msgs/QoSProfile.
    (nodes[(space == "/" ? space : space + "/") + one.node_name()].*endpoints)
        .emplace(topic, "{\"name\": " + quoted(topic) +
                            ", \"type\": {\"name\": " + quoted(one.topic_type()) +
                            "}, \"qos\": {\"history\": " + std::to_string(qos.history) +
                            ", \"depth\": " + std::to_string(qos.depth) +
                            ", \"reliability\": " + std::to_string(qos.reliability) +
                            ", \"durability\": " + std::to_string(qos.durability) + "}}");
  }
}

template <typename Entries, typename Text>
std::string list(const Entries &entries, Text text) {
  std::string all;
  for (const auto &entry : entries) all += (all.empty() ? "" : ",\n ") + text(entry);
  return "[" + all + "]";
}

std::string Reader::look() const {
  Nodes nodes;
  for (const auto &name : graph_->get_node_names()) nodes[name];
  for (const auto &[topic, types] : graph_->get_topic_names_and_types()) {
    add(nodes, topic, graph_->get_publishers_info_by_topic(topic), &Node::publishers);
    add(nodes, topic, graph_->get_subscriptions_info_by_topic(topic), &Node::subscriptions);
  }
  nodes.erase(std::string("/") + NAME);
  if (nodes.empty()) return "";
  const auto second = [](const auto &entry) { return entry.second; };
  return "{\"nodes\": " +
         list(nodes,
              [&](const auto &entry) {
                const auto &[name, node] = entry;
                return "{\"name\": " + quoted(name) +
                       ", \"publishers\": " + list(node.publishers, second) +
                       ", \"subscriptions\": " + list(node.subscriptions, second) + "}";
              }) +
         "}\n";
}

std::string settled(const Reader &reader) {
  const auto end = Clock::now() + MOST;
  std::string seen = reader.look();
  for (auto since = Clock::now(); Clock::now() < end;) {
    std::this_thread::sleep_for(BETWEEN_LOOKS);
    if (std::string now = reader.look(); now != seen) {
      seen = std::move(now);
      since = Clock::now();
    } else if (!seen.empty() && Clock::now() - since >= SETTLED) {
      return seen;
    }
  }
  return seen;
}

}  // namespace

int print_graph(uint32_t domain_id) noexcept {
  try {
    const std::string graph = settled(Reader(domain_id));
    if (graph.empty()) return GRAPH_EMPTY;
    return std::fputs(graph.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? GRAPH_READ
                                                                              : GRAPH_FAILED;
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "%s\n", exception.what());
    return GRAPH_FAILED;
  }
}

}  // namespace rmwbench
