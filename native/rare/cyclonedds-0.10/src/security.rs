//! DDS Security with the trial's keys, by the plug-ins that Debian packages beside the library.

use std::path::Path;

use rmwbench_harness::keystore::Keystore;
use rmwbench_harness::middleware::{Error, SessionConfig};

/// Where Debian has the plug-ins, for the architecture of this build.
#[cfg(target_arch = "x86_64")]
const PLUGINS: &str = "/usr/lib/x86_64-linux-gnu/libddsc0debian";
#[cfg(target_arch = "aarch64")]
const PLUGINS: &str = "/usr/lib/aarch64-linux-gnu/libddsc0debian";

/// The `Security` element of Cyclone's configuration.
pub fn fragment(config: &SessionConfig) -> Result<String, Error> {
    let plugin = |name: &str| format!("{PLUGINS}/libdds_security_{name}.so");
    for name in ["auth", "ac", "crypto"] {
        if !Path::new(&plugin(name)).exists() {
            return Err(Error::unsupported(
                "mode security",
                format!("this install has no plug-in {}", plugin(name)),
            ));
        }
    }
    let enclave = Keystore::of(config.trial_nonce)?.enclave();
    let file = |name: &str| format!("file:{}", enclave.join(name).display());
    let library = |name: &str, function: &str| {
        format!("<Library path=\"{}\" initFunction=\"init_{function}\" finalizeFunction=\"finalize_{function}\"/>", plugin(name))
    };
    Ok(format!(
        "<Security><Authentication>{}<IdentityCA>{}</IdentityCA><IdentityCertificate>{}</IdentityCertificate>\
         <PrivateKey>{}</PrivateKey></Authentication><Cryptographic>{}</Cryptographic><AccessControl>{}<PermissionsCA>{}</PermissionsCA>\
         <Governance>{}</Governance><Permissions>{}</Permissions></AccessControl></Security>",
        library("auth", "authentication"),
        file("identity_ca.cert.pem"),
        file("cert.pem"),
        file("key.pem"),
        library("crypto", "crypto"),
        library("ac", "access_control"),
        file("permissions_ca.cert.pem"),
        file("governance.p7s"),
        file("permissions.p7s"),
    ))
}
