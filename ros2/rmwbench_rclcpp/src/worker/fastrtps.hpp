// What Fast DDS itself reports, through the library for each variant of rmw_fastrtps
// (src/fastrtps).
#pragma once

#include <string>

namespace rmwbench {

// A function of that library; NULL if it was not built.
void *ask_fastrtps(const std::string &rmw, const char *symbol);

// False if Fast DDS is the middleware and accepted no profile in this file.
bool took_profiles(const std::string &rmw, const std::string &path);

}  // namespace rmwbench
