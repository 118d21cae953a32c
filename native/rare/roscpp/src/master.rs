//! ROS 1's master, by which nodes find each other: Debian's rosmaster, a Python program, as a child
//! of this process.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{Daemon, Error};

/// The program that a user would start; `rosout`, which roscore starts beside the master, only
/// collects logs.
pub const NAME: &str = "roscore";
const PORT: u16 = 11311;
const PROGRAM: &str = "rosmaster";
const PATIENCE: Duration = Duration::from_secs(30);

/// A master that serves; dropping it ends it and removes its logs.
pub struct Master {
    child: Child,
    home: PathBuf,
}

impl Master {
    pub fn start() -> Result<Master, Error> {
        let object = || format!("daemon {NAME}");
        if is_running() {
            return Err(Error::failed(
                object(),
                format!("another master serves this host already (port {PORT})"),
            ));
        }
        let home = std::env::temp_dir().join(format!("rmwbench-rosmaster-{}", std::process::id()));
        std::fs::create_dir_all(&home).map_err(|e| Error::failed(home.display().to_string(), e))?;
        let mut command = Command::new(PROGRAM);
        command
            .args(["--core", "-p", &PORT.to_string()])
            .env("ROS_HOME", &home)
            .env("ROS_LOG_DIR", &home)
            .env("ROS_IP", "127.0.0.1");
        // SAFETY: a plain system call between fork and exec. The master ends when this process is
        // killed.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
        let child = command.spawn().map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::failed(
                object(),
                format!("{PROGRAM} is missing: sudo apt-get install python3-rosmaster"),
            ),
            _ => Error::failed(object(), format!("{PROGRAM}: {e}")),
        })?;
        let mut master = Master { child, home };
        let deadline = Instant::now() + PATIENCE;
        while !is_running() {
            if let Ok(Some(status)) = master.child.try_wait() {
                return Err(Error::failed(
                    object(),
                    format!("{PROGRAM} ended with {status}; its words are in the log"),
                ));
            }
            if Instant::now() > deadline {
                return Err(Error::failed(
                    object(),
                    format!("{PROGRAM} does not listen at port {PORT} after {PATIENCE:?}"),
                ));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(master)
    }
}

impl Daemon for Master {}

impl Drop for Master {
    fn drop(&mut self) {
        // The master has no state that must be closed in order.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// Whether a master listens in this host.
pub fn is_running() -> bool {
    TcpStream::connect(("127.0.0.1", PORT)).is_ok()
}

/// The address in roscpp's form.
pub fn uri() -> String {
    format!("http://127.0.0.1:{PORT}")
}
