// The names in a Fast DDS profile file: which profile of a kind is the default, and whether there
// is one with a given name.
//
// Fast DDS 2.x has no public function for this, and logs an error when it is asked for a profile
// that does not exist. A scan of the tags is enough, because the text was accepted by its parser
// before.
#pragma once

#include <string>
#include <vector>

namespace rmwbench {

struct NamedProfile {
  std::string name;
  bool is_default;
};

// The profiles with tag `tag` ("participant", "data_writer", "data_reader"), in order; comments are
// skipped.
std::vector<NamedProfile> profiles_in(const std::string &xml, const std::string &tag);

}  // namespace rmwbench
