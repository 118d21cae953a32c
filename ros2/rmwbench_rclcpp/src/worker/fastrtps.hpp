// What Fast DDS itself tells, through the library for each variant of rmw_fastrtps (src/fastrtps).
#pragma once

#include <string>

namespace rmwbench {

// A function of that library; NULL where it was not built.
void *ask_fastrtps(const std::string &rmw, const char *symbol);

// False where Fast DDS is the middleware and took nothing of the profiles in this file.
bool took_profiles(const std::string &rmw, const std::string &path);

}  // namespace rmwbench
