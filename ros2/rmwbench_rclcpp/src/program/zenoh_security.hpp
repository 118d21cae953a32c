// The mode security of rmw_zenoh_cpp: the configuration that zenoh_security_tools makes from a
// keystore, as keys of Zenoh's configuration. Links are TLS and both ends present a certificate of
// the keystore's authority; everything is forbidden unless a rule allows it, and one rule allows
// everything, as the permissions of the keystore do.
#pragma once

#include <string>

#include "rmw.hpp"

namespace rmwbench {

// Key → JSON5, for a session or a router. `keystore`: its directory. `discovery`: the keys that the
// mode discovery replaces; they are returned, too, with TLS for their endpoints, or for those as
// installed.
Pairs zenoh_security(const std::string &keystore, Pairs discovery, bool router);

}  // namespace rmwbench
