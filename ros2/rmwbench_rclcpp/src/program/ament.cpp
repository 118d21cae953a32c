#include "ament.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace rmwbench::ament {
namespace {

namespace fs = std::filesystem;

// The directories in an environment variable.
std::vector<std::string> directories(const char *variable) {
  const char *path = std::getenv(variable);
  std::istringstream parts(path != nullptr ? path : "");
  std::vector<std::string> found;
  for (std::string part; std::getline(parts, part, ':');) {
    if (!part.empty()) found.push_back(part);
  }
  return found;
}

std::vector<std::string> prefixes() { return directories("AMENT_PREFIX_PATH"); }

bool is_file(const fs::path &path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

std::vector<std::string> rmw_implementations() {
  std::set<std::string> names;
  for (const auto &prefix : prefixes()) {
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(
             prefix + "/share/ament_index/resource_index/rmw_typesupport", ignored)) {
      const std::string name = entry.path().filename();
      // The dispatcher (rmw_implementation) also registers itself.
      if (name != "rmw_implementation" && is_file(prefix + "/lib/lib" + name + ".so"))
        names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

std::optional<std::string> prefix_of(const std::string &package) {
  for (const auto &prefix : prefixes()) {
    if (is_file(prefix + "/share/" + package + "/package.xml")) return prefix;
  }
  return std::nullopt;
}

std::string version_of(const std::string &package) {
  const auto prefix = prefix_of(package);
  if (!prefix) return "";
  std::ifstream file(*prefix + "/share/" + package + "/package.xml");
  std::stringstream text;
  text << file.rdbuf();
  const std::string xml = text.str();
  const auto begin = xml.find("<version");
  const auto open = begin == std::string::npos ? begin : xml.find('>', begin);
  const auto end = open == std::string::npos ? open : xml.find("</version>", open);
  return end == std::string::npos ? "" : xml.substr(open + 1, end - open - 1);
}

std::optional<std::string> program(const std::string &relative) {
  const std::string name = fs::path(relative).filename();
  for (const auto &directory : directories("PATH")) {
    const std::string path = directory + "/" + name;
    if (is_file(path) && access(path.c_str(), X_OK) == 0) return path;
  }
  for (const auto &prefix : prefixes()) {
    if (is_file(prefix + "/" + relative)) return prefix + "/" + relative;
  }
  return std::nullopt;
}

std::optional<std::string> library(const std::string &file) {
  std::vector<fs::path> places;
  for (const auto &directory : directories("LD_LIBRARY_PATH")) places.emplace_back(directory);
  for (const auto &prefix : prefixes()) {
    places.emplace_back(prefix + "/lib");
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(prefix + "/lib", ignored)) {
      // Debian's lib/x86_64-linux-gnu
      if (entry.path().string().find("-linux-gnu") != std::string::npos)
        places.push_back(entry.path());
    }
  }
  for (const auto &place : places) {
    if (is_file(place / file)) return place / file;
  }
  return std::nullopt;
}

}  // namespace rmwbench::ament
