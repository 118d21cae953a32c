// The sourced ROS 2 as the ament index tells it: which RMWs it has, where packages are and of what
// version.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rmwbench::ament {

// Names of resource type `rmw_typesupport` whose library is there, in order; empty without a
// sourced ROS 2.
std::vector<std::string> rmw_implementations();

// Where `package` is installed; nothing where it is not.
std::optional<std::string> prefix_of(const std::string &package);

// `<version>` of its package.xml; empty where it is not installed.
std::string version_of(const std::string &package);

// A program of one of the prefixes: `relative` such as "bin/iox-roudi".
std::optional<std::string> file_of_a_prefix(const std::string &relative);

// Whether one of the prefixes has a shared library of that file name.
bool has_library(const std::string &file);

}  // namespace rmwbench::ament
