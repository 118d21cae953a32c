//! DDS Security with keys made for the trial: one certificate authority and one identity, which all workers of the trial share, and a
//! governance that signs what RTPS sends and encrypts discovery and data, as ROS 2's `sros2` does by default.
//!
//! The first worker of a host makes them with the `openssl` command, in a directory named after the trial; the others wait for it.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use rmwbench_harness::middleware::{Error, SessionConfig};

/// Where Debian has the plug-ins, of the architecture that this was built for.
#[cfg(target_arch = "x86_64")]
const PLUGINS: &str = "/usr/lib/x86_64-linux-gnu/libddsc0debian";
#[cfg(target_arch = "aarch64")]
const PLUGINS: &str = "/usr/lib/aarch64-linux-gnu/libddsc0debian";
const SUBJECT: &str = "/CN=rmwbench";

const GOVERNANCE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
     xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_governance.xsd">
  <domain_access_rules>
    <domain_rule>
      <domains><id_range><min>0</min><max>230</max></id_range></domains>
      <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
      <enable_join_access_control>true</enable_join_access_control>
      <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
      <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
      <rtps_protection_kind>SIGN</rtps_protection_kind>
      <topic_access_rules>
        <topic_rule>
          <topic_expression>*</topic_expression>
          <enable_discovery_protection>true</enable_discovery_protection>
          <enable_liveliness_protection>true</enable_liveliness_protection>
          <enable_read_access_control>true</enable_read_access_control>
          <enable_write_access_control>true</enable_write_access_control>
          <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
          <data_protection_kind>ENCRYPT</data_protection_kind>
        </topic_rule>
      </topic_access_rules>
    </domain_rule>
  </domain_access_rules>
</dds>
"#;

const PERMISSIONS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
     xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_permissions.xsd">
  <permissions>
    <grant name="rmwbench">
      <subject_name>CN=rmwbench</subject_name>
      <validity><not_before>2020-01-01T00:00:00</not_before><not_after>2100-01-01T00:00:00</not_after></validity>
      <allow_rule>
        <domains><id_range><min>0</min><max>230</max></id_range></domains>
        <publish><topics><topic>*</topic></topics></publish>
        <subscribe><topics><topic>*</topic></topics></subscribe>
      </allow_rule>
      <default>DENY</default>
    </grant>
  </permissions>
</dds>
"#;

/// The `Security` element of Cyclone's configuration.
pub fn fragment(config: &SessionConfig) -> Result<String, Error> {
    let plugin = |name: &str| format!("{PLUGINS}/libdds_security_{name}.so");
    for name in ["auth", "ac", "crypto"] {
        if !Path::new(&plugin(name)).exists() {
            return Err(Error::unsupported("mode security", format!("this install has no plug-in {}", plugin(name))));
        }
    }
    let directory = directory(config);
    make(&directory).map_err(|message| Error::failed("mode security", format!("keys in {}: {message}", directory.display())))?;
    let file = |name: &str| format!("file:{}", directory.join(name).display());
    let library = |name: &str, function: &str| {
        format!("<Library path=\"{}\" initFunction=\"init_{function}\" finalizeFunction=\"finalize_{function}\"/>", plugin(name))
    };
    Ok(format!(
        "<Security><Authentication>{}<IdentityCA>{}</IdentityCA><IdentityCertificate>{}</IdentityCertificate>\
         <PrivateKey>{}</PrivateKey></Authentication><Cryptographic>{}</Cryptographic><AccessControl>{}<PermissionsCA>{}</PermissionsCA>\
         <Governance>{}</Governance><Permissions>{}</Permissions></AccessControl></Security>",
        library("auth", "authentication"),
        file("ca.pem"),
        file("identity.pem"),
        file("identity.key"),
        library("crypto", "crypto"),
        library("ac", "access_control"),
        file("ca.pem"),
        file("governance.p7s"),
        file("permissions.p7s"),
    ))
}

fn directory(config: &SessionConfig) -> PathBuf {
    std::env::temp_dir().join(format!("rmwbench-dds-security-{:016x}", config.trial_nonce))
}

/// Makes the keys unless another worker of the trial has; whoever is making them holds the lock.
fn make(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|e| e.to_string())?;
    let lock = File::create(directory.join("lock")).map_err(|e| e.to_string())?;
    // SAFETY: a descriptor of ours; closing it unlocks.
    if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    if directory.join("complete").exists() {
        return Ok(());
    }
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).map_err(|e| e.to_string());
    write("governance.xml", GOVERNANCE)?;
    write("permissions.xml", PERMISSIONS)?;
    let openssl = |arguments: &str| openssl(directory, arguments);
    openssl("ecparam -name prime256v1 -genkey -noout -out ca.key")?;
    openssl("ecparam -name prime256v1 -genkey -noout -out identity.key")?;
    openssl("req -x509 -new -key ca.key -days 3650 -subj /CN=rmwbench-ca -out ca.pem")?;
    openssl(&format!("req -new -key identity.key -subj {SUBJECT} -out identity.csr"))?;
    openssl("x509 -req -in identity.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -out identity.pem")?;
    for name in ["governance", "permissions"] {
        openssl(&format!("smime -sign -text -in {name}.xml -out {name}.p7s -signer ca.pem -inkey ca.key"))?;
    }
    write("complete", "")
}

fn openssl(directory: &Path, arguments: &str) -> Result<(), String> {
    let mut command = Command::new("openssl");
    let output = command.args(arguments.split(' ')).current_dir(directory).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(e) => Err(format!("openssl: {e} (sudo apt-get install openssl)")),
    }
}
