//! Keys and documents of a trial with `security: true`, made by openssl in the host's temporary
//! directory.
//!
//! One certificate authority, one identity that all participants of a host share (as the nodes of
//! one ROS 2 enclave do), permission for every topic, and the protection that ROS 2's own tool
//! (sros2) asks for by default: discovery, liveliness, metadata and data encrypted, RTPS messages
//! signed. It is a keystore as sros2 lays one out (docs.ros.org, "Understanding the security
//! keystore"), so that nodes of ROS 2, the libraries below them and Zenoh's TLS read the same
//! files. They live and die with the host of the trial.
//!
//! Hosts of one trial share no file. Each makes a keystore, and all have one authority, since its
//! private key and its serial number follow from the trial. Such a key is no secret, which costs a
//! measurement nothing: signatures are made and checked all the same.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::middleware::Error;

// Both end at domain 230: Cyclone DDS refuses a document that names a higher one, Fast DDS one that
// names none of its own.
const GOVERNANCE: &str = include_str!("../security/governance.xml");
const PERMISSIONS: &str = include_str!("../security/permissions.xml");
/// The serial number is what a signed document names its signer by, besides the subject.
const AUTHORITY: &str = "req -x509 -sha256 -days 3650 -set_serial 1 -key ca.key.pem -out identity_ca.cert.pem -subj";
const AUTHORITY_SUBJECT: &str = "/CN=rmwbench authority";
/// Of the one enclave, which nodes of ROS 2 name `/rmwbench`.
const ENCLAVE_DIRECTORY: &str = "enclaves/rmwbench";

pub struct Keystore {
    directory: PathBuf,
}

impl Keystore {
    /// That of trial `nonce`, made by the first process of the host that asks for it.
    pub fn of(nonce: u64) -> Result<Keystore, Error> {
        let directory = std::env::temp_dir().join(format!("rmwbench_security_{nonce:016x}"));
        if directory.is_dir() {
            return Ok(Keystore { directory });
        }
        let own = PathBuf::from(format!("{}.{}", directory.display(), std::process::id()));
        let enclave = own.join(ENCLAVE_DIRECTORY);
        let made = fs::create_dir_all(&enclave)
            .map_err(|e| failed(&format!("{}: {e}", enclave.display())))
            .and_then(|()| make(&enclave, nonce));
        // Whole or not at all: another process may be making the same, and whoever renames first is
        // the authority.
        let renamed = made.and_then(|()| match fs::rename(&own, &directory) {
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

fn make(enclave: &Path, nonce: u64) -> Result<(), Error> {
    let write = |name: &str, text: &str| {
        fs::write(enclave.join(name), text).map_err(|e| failed(&format!("{name}: {e}")))
    };
    write("governance.xml", GOVERNANCE)?;
    write("permissions.xml", PERMISSIONS)?;
    fs::write(enclave.join("ca.key.der"), authority_key(nonce))
        .map_err(|e| failed(&format!("ca.key.der: {e}")))?;
    openssl(enclave, &words("pkey -inform DER -in ca.key.der -out ca.key.pem"))?;
    openssl(enclave, &[&words(AUTHORITY)[..], &[AUTHORITY_SUBJECT]].concat())?;
    let request = [
        "req",
        "-sha256",
        "-subj",
        "/CN=rmwbench",
        "-keyout",
        "key.pem",
        "-out",
        "participant.csr",
        "-nodes",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
    ];
    openssl(enclave, &request)?;
    // With an extension it is of version 3, as sros2's is: TLS takes no other.
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

/// A private key on the curve P-256, as RFC 5915 encodes it, without the public key, which openssl
/// computes. Its number begins with a fixed text, so that it is smaller than the order of the curve,
/// and ends with the nonce.
fn authority_key(nonce: u64) -> Vec<u8> {
    // ECPrivateKey: version 1, then the number as 32 octets …
    let mut found = vec![0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];
    found.extend(b"rmwbench trial authority");
    found.extend(nonce.to_be_bytes());
    // … and the name of the curve, 1.2.840.10045.3.1.7.
    found.extend([0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]);
    found
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

    #[test]
    fn what_a_host_has_signed_another_host_of_the_trial_accepts_and_another_trial_does_not() {
        let nonce = u64::from(std::process::id()) << 32 | 8;
        let kept = |nonce: u64, name: &str| {
            let keystore = Keystore::of(nonce).unwrap();
            let moved = keystore.directory().with_extension(name);
            fs::rename(keystore.directory(), &moved).unwrap();
            moved
        };
        // As two hosts make them, which have a temporary directory each.
        let (robot, base) = (kept(nonce, "robot"), kept(nonce, "base"));
        let stranger = kept(nonce + 1, "stranger");
        let file = |of: &Path, name: &str| of.join(ENCLAVE_DIRECTORY).join(name);
        let read = |of: &Path, name: &str| fs::read(file(of, name)).unwrap();
        assert_ne!(read(&robot, "key.pem"), read(&base, "key.pem"));
        for (signer, accepted) in [(&base, true), (&stranger, false)] {
            for name in ["cert.pem", "permissions.p7s", "governance.p7s"] {
                fs::copy(file(signer, name), file(&robot, "theirs")).unwrap();
                let check = match name {
                    "cert.pem" => "verify -CAfile identity_ca.cert.pem theirs".to_string(),
                    // As Fast DDS does: the signer is looked for among one's own certificates.
                    _ => "smime -verify -text -nointern -certfile permissions_ca.cert.pem -CAfile permissions_ca.cert.pem -in theirs -out theirs.out".to_string(),
                };
                let found = openssl(&robot.join(ENCLAVE_DIRECTORY), &words(&check));
                assert_eq!(found.is_ok(), accepted, "{name}");
            }
        }
        for directory in [robot, base, stranger] {
            fs::remove_dir_all(directory).unwrap();
        }
    }
}
