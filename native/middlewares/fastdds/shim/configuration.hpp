// The configuration in force, as XML that Fast DDS reads: profile, modes and options together, read
// back from the participant. Settings for which its XML has no element are comments, and so are the
// socket buffers that the kernel granted.
#pragma once

#include <string>

struct rmwbench_session;

namespace rmwbench {

std::string configuration(const rmwbench_session &session);

}  // namespace rmwbench
