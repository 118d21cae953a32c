//! Certificates of one trial, made by the `openssl` command: an authority that is forgotten at
//! once, and a certificate that it signed, which all processes of the trial share. Both ends of a
//! TLS link must show it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::Error;
use serde_json::{json, Value};

/// Longer than openssl takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

const OPENSSL: &str = "\
[req]
distinguished_name = name
prompt = no
[name]
CN = rmwbench trial
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[peer]
basicConstraints = CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = DNS:localhost, IP:127.0.0.1
";

pub struct Certificates {
    directory: PathBuf,
}

impl Certificates {
    /// Makes them in `shared`, or waits for the process that does. Errors: unsupported without the
    /// openssl command.
    pub fn of(shared: &Path) -> Result<Certificates, Error> {
        let (making, made) = (shared.join("tls.making"), shared.join("tls"));
        let failed = |e: io::Error| match e.kind() {
            ErrorKind::NotFound => Error::unsupported(
                "mode security",
                "certificates are made by the openssl command, which is not installed",
            ),
            _ => Error::failed("mode security", e),
        };
        // Whoever makes this directory makes the certificates; it stays, so that nobody makes them
        // again.
        match fs::create_dir(shared.join("tls.taken_on")) {
            Ok(()) => {
                fs::create_dir(&making).map_err(failed)?;
                make(&making).map_err(failed)?;
                fs::rename(&making, &made).map_err(failed)?;
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::failed("mode security", e)),
        }
        let began = Instant::now();
        while !made.exists() {
            if began.elapsed() > PATIENCE {
                return Err(Error::failed(
                    "mode security",
                    format!("no certificates in {} after {PATIENCE:?}", made.display()),
                ));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Certificates { directory: made })
    }

    /// Zenoh's `transport/link/tls`.
    pub fn settings(&self) -> Value {
        let file = |name: &str| self.directory.join(name).display().to_string();
        json!({
            "root_ca_certificate": file("ca.pem"),
            "listen_private_key": file("key.pem"),
            "listen_certificate": file("cert.pem"),
            "connect_private_key": file("key.pem"),
            "connect_certificate": file("cert.pem"),
            "enable_mtls": true,
            // One certificate for all processes of a trial, which have an address each.
            "verify_name_on_connect": false,
        })
    }
}

fn make(directory: &Path) -> io::Result<()> {
    fs::write(directory.join("openssl.cnf"), OPENSSL)?;
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-noenc",
        "-config",
        "openssl.cnf",
    ];
    openssl(
        directory,
        &[
            &[
                "req",
                "-x509",
                "-days",
                "2",
                "-extensions",
                "authority",
                "-keyout",
                "ca.key",
                "-out",
                "ca.pem",
            ],
            &key[..],
        ]
        .concat(),
    )?;
    openssl(
        directory,
        &[
            &[
                "req",
                "-new",
                "-subj",
                "/CN=rmwbench peer",
                "-keyout",
                "key.pem",
                "-out",
                "peer.csr",
            ],
            &key[..],
        ]
        .concat(),
    )?;
    let sign = [
        "x509",
        "-req",
        "-days",
        "2",
        "-in",
        "peer.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-out",
        "cert.pem",
    ];
    openssl(directory, &[&sign[..], &["-extfile", "openssl.cnf", "-extensions", "peer"]].concat())?;
    fs::remove_file(directory.join("ca.key"))
}

fn openssl(directory: &Path, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "openssl {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        )))
    }
}
