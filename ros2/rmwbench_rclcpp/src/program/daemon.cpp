#include "daemon.hpp"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include <rmwbench_fault.hpp>

#include "ament.hpp"
#include "hosts.hpp"
#include "zenoh_discovery.hpp"
#if __has_include(<fastdds/config.hpp>)
#include <fastdds/config.hpp>
#endif

namespace rmwbench {
namespace {

using namespace std::chrono_literals;
// Below the 10 s that the orchestrator waits for the answer (COMMAND_TIMEOUT_S in timeouts.py of
// rmwbench/campaign/trial): so its error names the daemon that did not serve, instead of a
// time-out.
constexpr auto patience = 8s;

bool tcp_answers(uint16_t port) {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool answered = connect(probe, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  close(probe);
  return answered;
}

bool udp_is_bound(uint16_t port) {
  char port_text[8];
  std::snprintf(port_text, sizeof port_text, ":%04X ", port);
  std::ifstream table("/proc/net/udp");
  for (std::string line; std::getline(table, line);) {
    if (line.find(port_text) != std::string::npos) return true;
  }
  return false;
}

std::string program(const std::vector<std::string> &candidates) {
  for (const auto &candidate : candidates) {
    if (const auto found = ament::program(candidate)) return *found;
  }
  return "";
}

// Since 3.2 Fast DDS's program takes the number of a command first, and refuses any other argument;
// the number for a server is the one that `fastdds discovery` passes
// (tools/fastdds/discovery/parser.py).
#if defined(FASTDDS_VERSION_MAJOR) && \
    (FASTDDS_VERSION_MAJOR > 3 || (FASTDDS_VERSION_MAJOR == 3 && FASTDDS_VERSION_MINOR >= 2))
const std::vector<std::string> of_the_server = {"42"};
#else
const std::vector<std::string> of_the_server;
#endif

struct Recipe {
  std::vector<std::string> candidates;
  std::vector<std::string> arguments;
  std::function<bool()> serves;
  bool one_for_all = false;  // a daemon of the same name that another middleware started is used
};

Recipe recipe(const std::string &name, const std::string &pools) {
  if (name == HOST_ROUTER || name == CENTRAL_ROUTER) {
    return {{"lib/rmw_zenoh_cpp/rmw_zenohd"}, {}, [] { return tcp_answers(router_port()); }, true};
  }
  if (name == "discovery_server") {
    std::vector<std::string> arguments = of_the_server;
    arguments.insert(arguments.end(), {"-i", "0", "-l", hosts_of_the_trial().daemon, "-p",
                                       std::to_string(discovery_server_port())});
    return {{"bin/fast-discovery-server", "bin/fast-discovery-server-1.0.1"}, arguments, [] {
              return udp_is_bound(discovery_server_port());
            }};
  }
  if (name == ROUDI) {
    std::vector<std::string> arguments = {"-m", "on"};
    if (!pools.empty()) arguments.insert(arguments.end(), {"-c", pools});
    return {{"bin/iox-roudi"}, arguments, roudi_serves};
  }
  throw Fault{RMWBENCH_ERROR_UNSUPPORTED, "daemon " + name,
              "expected router, central_router, discovery_server or roudi"};
}

}  // namespace

DaemonProcess::DaemonProcess(const std::string &name, const std::string &roudi_pools)
    : pools_(roudi_pools.empty() ? "" : roudi_configuration(roudi_pools)) {
  const std::string object = "daemon " + name;
  const Recipe how = recipe(name, pools_.path());
  // A trial of two middlewares that speak Zenoh starts a router for each; both need the same port,
  // and a robot has one router.
  if (how.one_for_all && how.serves()) {
    std::fprintf(stderr, "%s: another one serves already, and is used\n", object.c_str());
    return;
  }
  const std::string path = program(how.candidates);
  if (path.empty()) {
    throw Fault{RMWBENCH_ERROR_UNSUPPORTED, object,
                how.candidates.front() + " is in no prefix of the sourced ROS 2 and not on PATH"};
  }
  std::vector<char *> arguments{const_cast<char *>(path.c_str())};
  for (const auto &argument : how.arguments)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) {
    // Even if this process is killed: a daemon must not outlive its trial.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    execv(path.c_str(), arguments.data());
    _exit(127);
  }
  if (child_ < 0) throw Fault{RMWBENCH_ERROR_FAILED, object, "fork failed"};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!how.serves()) {
    if (ended())
      throw Fault{RMWBENCH_ERROR_FAILED, object,
                  path + " ended before it served; its words are on stderr"};
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
      throw Fault{RMWBENCH_ERROR_FAILED, object,
                  path + " did not serve within " + std::to_string(patience.count()) + " s"};
    }
    std::this_thread::sleep_for(5ms);
  }
  watch(object);
}

void DaemonProcess::watch(const std::string &object) {
  watcher_ = std::thread([this, object, child = child_] {
    siginfo_t how{};
    // WNOWAIT leaves the child unreaped, so that its PID is not reused.
    while (waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT) != 0) {
      if (errno != EINTR) return;
    }
    if (ending_) return;
    std::fprintf(stderr, "%s ended by itself, %s %d\n", object.c_str(),
                 how.si_code == CLD_EXITED ? "with status" : "by signal", how.si_status);
    _exit(EXIT_FAILURE);
  });
}

DaemonProcess::~DaemonProcess() {
  if (child_ <= 0) return;
  ending_ = true;
  kill(child_, SIGINT);
  for (int i = 0; i < 400 && !ended(); ++i) std::this_thread::sleep_for(5ms);
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  watcher_.join();
}

bool DaemonProcess::ended() {
  if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) == child_) child_ = -1;
  return child_ < 0;
}

}  // namespace rmwbench
