// The sourced ROS 2 as the ament index tells it: which RMWs it has, where packages are and of what
// version. Packages that are not ament's (Cyclone DDS, iceoryx, Fast DDS) are in none of its
// prefixes where colcon gave each package one of its own: what they have is looked for as the shell
// and the loader do.
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

// A program: on PATH, else `relative`, such as "bin/iox-roudi", in one of the prefixes.
std::optional<std::string> program(const std::string &relative);

// A shared library of that file name: where LD_LIBRARY_PATH says, else in one of the prefixes.
std::optional<std::string> library(const std::string &file);

}  // namespace rmwbench::ament
