#include "description.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ament.hpp"
#include "options.hpp"
#include "release_dates.hpp"
#include "rmw.hpp"

namespace rmwbench {
namespace {

// The distribution's name, if the environment has it (package ros_environment), else by the version
// of rclcpp that belongs to it.
std::string distribution() {
  if (const char *name = std::getenv("ROS_DISTRO"); name != nullptr && *name != '\0') return name;
  static const std::array<std::pair<int, const char *>, 6> majors = {{{16, "humble"},
                                                                      {21, "iron"},
                                                                      {28, "jazzy"},
                                                                      {29, "kilted"},
                                                                      {31, "lyrical"},
                                                                      {32, "lyrical"}}};
  const int major = std::atoi(ament::version_of("rclcpp").c_str());
  for (const auto &[number, name] : majors) {
    if (number == major) return name;
  }
  return "";
}

struct Texts {
  explicit Texts(const Rmw &rmw) : middleware("rclcpp/" + rmw.name) {
    const std::string library = rmw.library.empty() ? "" : ament::version_of(rmw.library);
    // Includes the version of the middleware's library: with another one, the same RMW is another
    // candidate.
    version = ament::version_of("rclcpp") + " " + rmw.name + " " + ament::version_of(rmw.name) +
              (library.empty() ? "" : " " + rmw.library + " " + library);
    build.emplace_back("source", "ROS 2 " + distribution() + ", " +
                                     ament::prefix_of("rclcpp").value_or("no prefix"));
    build.emplace_back("distribution",
                       distribution().empty() ? "unknown: ROS_DISTRO is not set" : distribution());
    if (!library.empty()) build.emplace_back("library", rmw.library + " " + library);
    if (!rmw.variable.empty()) build.emplace_back("profile_variable", rmw.variable);
    build.emplace_back("compiler", RMWBENCH_COMPILER);
    build.emplace_back("built_against", RMWBENCH_BUILT_AGAINST);
    date = release_date(rmw.name, ament::version_of(rmw.name));
    build.emplace_back("release_date_is", date.empty() ? "not known of this version of the RMW"
                                                       : "of this version of the RMW");
  }

  std::string middleware, version, date;
  Pairs build;
};

// The output of `self --describe` as the worker of one RMW; empty if that failed.
std::string described(const char *self, const std::string &rmw) {
  int out[2];
  if (pipe(out) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    close(out[0]);
    close(out[1]);
    setenv("RMW_IMPLEMENTATION", rmw.c_str(), 1);
    setenv("RMWBENCH_DESCRIBE_ONE", "1", 1);
    execl(self, self, "--describe", static_cast<char *>(nullptr));
    _exit(127);
  }
  close(out[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = read(out[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(n));
  close(out[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
}

std::string quoted(const std::string &text) {
  return "\"" + text + "\"";
}  // of our own words, which need no escapes

// `yes` if this build has lifecycle nodes, else why not.
std::string lifecycle() {
  return no_lifecycle() == nullptr ? "\"yes\"" : quoted(std::string("no: ") + no_lifecycle());
}

}  // namespace

std::vector<rmwbench_pair> borrowed(const Pairs &pairs) {
  std::vector<rmwbench_pair> all;
  for (const auto &[name, value] : pairs) all.push_back({name.c_str(), value.c_str()});
  return all;
}

const rmwbench_description &description() {
  static const Rmw &rmw = current_rmw();
  static const Texts texts(rmw);
  static const auto build = borrowed(texts.build);
  static const auto capabilities = borrowed(rmw.capabilities);
  static const auto modes = borrowed(rmw.modes);
  static const auto profiles = [] {
    std::vector<rmwbench_profile> all;
    for (const auto &p : rmw.profiles)
      all.push_back({p.name.c_str(), rmw.format.c_str(), p.text.c_str(), p.summary.c_str()});
    return all;
  }();
  static const rmwbench_description whole{
      texts.middleware.c_str(),
      "rclcpp",
      texts.version.c_str(),
      texts.date.c_str(),
      build.data(),
      build.size(),
      capabilities.data(),
      capabilities.size(),
      profiles.data(),
      profiles.size(),
      modes.data(),
      modes.size(),
  };
  return whole;
}

int describe_all(const char *self) {
  const auto rmws = ament::rmw_implementations();
  if (rmws.empty()) {
    std::fputs("no RMW found: source a ROS 2 first, for example with `. /opt/ros/jazzy/setup.sh`\n",
               stderr);
    return 2;
  }
  // The environment variables that a process needs from a sourced ROS 2; the last two are where
  // Connext and its licence are.
  const std::string inherit =
      "[\"AMENT_PREFIX_PATH\", \"LD_LIBRARY_PATH\", \"PATH\", \"ROS_DISTRO\", \"ROS_VERSION\", "
      "\"NDDSHOME\", \"RTI_LICENSE_FILE\"]";
  std::string all;
  for (const auto &rmw : rmws) {
    const std::string one = described(self, rmw);
    const auto brace = one.find('{');
    if (brace == std::string::npos) {
      std::fprintf(stderr, "%s cannot be described\n", rmw.c_str());
      return 2;
    }
    all += all.empty() ? "" : ",\n ";
    all += "{\"environment\": {\"RMW_IMPLEMENTATION\": \"" + rmw + "\"}, \"inherit\": " + inherit +
           ", \"ros_variables\": true, ";
    all += "\"lifecycle\": " + lifecycle() + ", ";
    all += one.substr(brace + 1, one.find_last_of('}') - brace);
  }
  std::printf("{\"middlewares\": [\n %s\n]}\n", all.c_str());
  return 0;
}

}  // namespace rmwbench
