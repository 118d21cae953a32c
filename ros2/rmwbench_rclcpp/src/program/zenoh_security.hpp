// rmw_zenoh_cpp with mode security: what zenoh_security_tools makes of a keystore, as keys of
// Zenoh's configuration. Links are TLS and both ends show a certificate of the keystore's
// authority; nothing is allowed but by a rule, and one rule allows everything, as the permissions
// of the keystore do.
#pragma once

#include <string>

#include "rmw.hpp"

namespace rmwbench {

// Key → JSON5, for a session or a router. `keystore`: its directory. `discovery`: the keys that the
// mode discovery replaces, which are returned, too; its endpoints, or those as installed, become
// TLS.
Pairs zenoh_security(const std::string &keystore, Pairs discovery, bool router);

}  // namespace rmwbench
