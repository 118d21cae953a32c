//! Keys and documents of a trial with `security: true`, made by openssl in the host's temporary directory.
//!
//! One certificate authority, one identity that all participants share (as the nodes of one ROS 2 enclave do), permission for every
//! topic, and the protection that ROS 2's own tool (sros2) asks for by default: discovery, liveliness, metadata and data encrypted,
//! RTPS messages signed. The files live and die with the host of the trial.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rmwbench_harness::middleware::Error;

const GOVERNANCE: &str = include_str!("../security/governance.xml");
const PERMISSIONS: &str = include_str!("../security/permissions.xml");

/// The directory with the files of trial `nonce`, made by the first process of the host that asks for it.
pub fn directory(nonce: u64) -> Result<PathBuf, Error> {
    let made = std::env::temp_dir().join(format!("rmwbench_security_{nonce:016x}"));
    if made.is_dir() {
        return Ok(made);
    }
    let own = PathBuf::from(format!("{}.{}", made.display(), std::process::id()));
    fs::create_dir_all(&own).map_err(|e| failed(&format!("{}: {e}", own.display())))?;
    make(&own)?;
    // Whole or not at all: another process may be making the same, and whoever renames first is the authority.
    if fs::rename(&own, &made).is_err() && !made.is_dir() {
        return Err(failed(&format!("could not rename {} to {}", own.display(), made.display())));
    }
    let _ = fs::remove_dir_all(&own);
    Ok(made)
}

fn make(directory: &Path) -> Result<(), Error> {
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).map_err(|e| failed(&format!("{name}: {e}")));
    write("governance.xml", GOVERNANCE)?;
    write("permissions.xml", PERMISSIONS)?;
    let key = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    let authority =
        ["req", "-x509", "-sha256", "-days", "3650", "-subj", "/CN=rmwbench authority", "-keyout", "ca.key.pem", "-out", "ca.cert.pem"];
    openssl(directory, &[&authority[..], &key[..]].concat())?;
    let request = ["req", "-sha256", "-subj", "/CN=rmwbench", "-keyout", "participant.key.pem", "-out", "participant.csr"];
    openssl(directory, &[&request[..], &key[..]].concat())?;
    openssl(
        directory,
        &words(
            "x509 -req -sha256 -days 3650 -in participant.csr -CA ca.cert.pem -CAkey ca.key.pem -CAcreateserial -out participant.cert.pem",
        ),
    )?;
    for name in ["governance", "permissions"] {
        openssl(directory, &words(&format!("smime -sign -text -in {name}.xml -out {name}.smime -signer ca.cert.pem -inkey ca.key.pem")))?;
    }
    Ok(())
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn openssl(directory: &Path, arguments: &[&str]) -> Result<(), Error> {
    let output = Command::new("openssl").args(arguments).current_dir(directory).stdin(Stdio::null()).output().map_err(|e| {
        let fix = if e.kind() == io::ErrorKind::NotFound { "; install it: apt-get install openssl" } else { "" };
        failed(&format!("openssl: {e}{fix}"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(&format!("openssl {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim())))
}

fn failed(message: &str) -> Error {
    Error::failed("mode security", message)
}
