#include "profile_names.hpp"

namespace rmwbench {
namespace {

std::string without_comments(std::string xml) {
  for (size_t start; (start = xml.find("<!--")) != std::string::npos;) {
    const size_t end = xml.find("-->", start);
    xml.erase(start, end == std::string::npos ? end : end + 3 - start);
  }
  return xml;
}

std::string attribute(const std::string &tag, const std::string &name) {
  const size_t at = tag.find(name);
  const size_t open = at == std::string::npos ? at : tag.find_first_of("\"'", at);
  if (open == std::string::npos) return "";
  return tag.substr(open + 1, tag.find(tag[open], open + 1) - open - 1);
}

}  // namespace

std::vector<NamedProfile> profiles_in(const std::string &xml, const std::string &tag) {
  const std::string text = without_comments(xml);
  std::vector<NamedProfile> found;
  const std::string opening = "<" + tag;
  for (size_t at = text.find(opening); at != std::string::npos; at = text.find(opening, at + 1)) {
    const size_t after = at + opening.size();
    const size_t end = text.find('>', at);
    if (end == std::string::npos || std::string(" \t\r\n").find(text[after]) == std::string::npos)
      continue;
    const std::string attributes = text.substr(after, end - after);
    const std::string name = attribute(attributes, "profile_name");
    if (!name.empty())
      found.push_back({name, attribute(attributes, "is_default_profile") == "true"});
  }
  return found;
}

}  // namespace rmwbench
