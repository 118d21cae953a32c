//! The keys and documents of a trial with `security: true`. openssl makes them in the temporary
//! directory of the trial's host, or in the directory that all of its hosts see.
//!
//! One certificate authority, one identity that all participants share (as the nodes of one ROS 2
//! enclave do), permission for every topic, and the protection that ROS 2's own tool (sros2) asks
//! for by default: discovery, liveliness, metadata and data encrypted, RTPS messages signed. The
//! keystore has the layout of sros2 (docs.ros.org, "Understanding the security keystore"), so that
//! nodes of ROS 2, the libraries below them and Zenoh's TLS read the same files. The files are
//! removed with the hosts of the trial.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use crate::middleware::Error;

// Both end at domain 230: Cyclone DDS refuses a document that names a higher one, Fast DDS one that
// names none of its own.
const GOVERNANCE: &str = include_str!("../security/governance.xml");
const PERMISSIONS: &str = include_str!("../security/permissions.xml");
/// The directory of the one enclave, which nodes of ROS 2 name `/rmwbench`.
const ENCLAVE_DIRECTORY: &str = "enclaves/rmwbench";

pub struct Keystore {
    directory: PathBuf,
}

impl Keystore {
    /// The keystore of trial `nonce`; the first process that calls this makes it.
    pub fn of(nonce: u64) -> Result<Keystore, Error> {
        let place =
            env::var_os("RMWBENCH_COMMON_DIRECTORY").map_or_else(env::temp_dir, PathBuf::from);
        let directory = place.join(format!("rmwbench_security_{nonce:016x}"));
        if directory.is_dir() {
            return Ok(Keystore { directory });
        }
        // A PID is unique only within its host.
        let host = env::var("RMWBENCH_ADDRESS").unwrap_or_default();
        let own = PathBuf::from(format!("{}.{host}.{}", directory.display(), process::id()));
        let enclave = own.join(ENCLAVE_DIRECTORY);
        let written = fs::create_dir_all(&enclave)
            .map_err(|e| failed(&format!("{}: {e}", enclave.display())))
            .and_then(|()| make(&enclave));
        // The directory appears whole or not at all: another process may be making the same
        // keystore, and the first rename decides.
        let renamed = written.and_then(|()| match fs::rename(&own, &directory) {
            Err(error) if !directory.is_dir() => {
                Err(failed(&format!("{} to {}: {error}", own.display(), directory.display())))
            }
            _ => Ok(Keystore { directory }),
        });
        let _ = fs::remove_dir_all(&own);
        renamed
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory of the enclave, with the files `identity_ca.cert.pem`, `cert.pem`, `key.pem`,
    /// `permissions_ca.cert.pem`, `governance.p7s` and `permissions.p7s`.
    pub fn enclave(&self) -> PathBuf {
        self.directory.join(ENCLAVE_DIRECTORY)
    }
}

fn make(enclave: &Path) -> Result<(), Error> {
    let write = |name: &str, text: &str| {
        fs::write(enclave.join(name), text).map_err(|e| failed(&format!("{name}: {e}")))
    };
    write("governance.xml", GOVERNANCE)?;
    write("permissions.xml", PERMISSIONS)?;
    let key = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    let authority = [
        "req",
        "-x509",
        "-sha256",
        "-days",
        "3650",
        "-subj",
        "/CN=rmwbench authority",
        "-keyout",
        "ca.key.pem",
        "-out",
        "identity_ca.cert.pem",
    ];
    openssl(enclave, &[&authority[..], &key[..]].concat())?;
    let request = [
        "req",
        "-sha256",
        "-subj",
        "/CN=rmwbench",
        "-keyout",
        "key.pem",
        "-out",
        "participant.csr",
    ];
    openssl(enclave, &[&request[..], &key[..]].concat())?;
    // With an extension the certificate is of version 3, as sros2's is: TLS accepts no other.
    write("extensions.cnf", "basicConstraints = critical, CA:FALSE\n")?;
    openssl(
        enclave,
        &words("x509 -req -sha256 -days 3650 -in participant.csr -CA identity_ca.cert.pem -CAkey ca.key.pem -CAcreateserial -extfile extensions.cnf -out cert.pem"),
    )?;
    for name in ["governance", "permissions"] {
        openssl(
            enclave,
            &words(&format!("smime -sign -text -in {name}.xml -out {name}.p7s -signer identity_ca.cert.pem -inkey ca.key.pem")),
        )?;
    }
    fs::copy(enclave.join("identity_ca.cert.pem"), enclave.join("permissions_ca.cert.pem"))
        .map_err(|e| failed(&e.to_string()))?;
    Ok(())
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn openssl(directory: &Path, arguments: &[&str]) -> Result<(), Error> {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            let fix = if e.kind() == io::ErrorKind::NotFound {
                "; install it: apt-get install openssl"
            } else {
                ""
            };
            failed(&format!("openssl: {e}{fix}"))
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(&format!(
        "openssl {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}

fn failed(message: &str) -> Error {
    Error::failed("mode security", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_has_one_keystore_whose_documents_its_authority_signed() {
        let nonce = u64::from(std::process::id()) << 32 | 7;
        let keystore = Keystore::of(nonce).unwrap();
        let enclave = keystore.enclave();
        let cert = fs::read(enclave.join("cert.pem")).unwrap();
        assert_eq!(
            fs::read(Keystore::of(nonce).unwrap().enclave().join("cert.pem")).unwrap(),
            cert,
            "whoever asks later gets the same"
        );
        openssl(&enclave, &words("verify -CAfile identity_ca.cert.pem cert.pem")).unwrap();
        for (name, within) in [
            ("governance", "<rtps_protection_kind>SIGN"),
            ("permissions", "<subject_name>CN=rmwbench<"),
        ] {
            openssl(&enclave, &words(&format!("smime -verify -text -in {name}.p7s -CAfile permissions_ca.cert.pem -out {name}.out")))
                .unwrap();
            assert!(fs::read_to_string(enclave.join(format!("{name}.out")))
                .unwrap()
                .contains(within));
        }
        fs::remove_dir_all(keystore.directory()).unwrap();
    }
}
