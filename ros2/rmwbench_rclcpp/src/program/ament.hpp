// The sourced ROS 2 according to the ament index: its RMWs, where its packages are and their
// versions. If colcon gave each package a prefix of its own, packages that are not ament's (Cyclone
// DDS, iceoryx, Fast DDS) are in none of ament's prefixes: their programs and libraries are looked
// up as the shell and the loader do.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rmwbench::ament {

// The names of resource type `rmw_typesupport` whose library exists, in order; empty without a
// sourced ROS 2.
std::vector<std::string> rmw_implementations();

// Where `package` is installed; nullopt if it is not.
std::optional<std::string> prefix_of(const std::string &package);

// The `<version>` of its package.xml; empty if it is not installed.
std::string version_of(const std::string &package);

// The path of a program: on PATH, else `relative`, such as "bin/iox-roudi", in one of the prefixes.
std::optional<std::string> program(const std::string &relative);

// The path of the shared library with that file name: in LD_LIBRARY_PATH, else in one of the
// prefixes.
std::optional<std::string> library(const std::string &file);

}  // namespace rmwbench::ament
