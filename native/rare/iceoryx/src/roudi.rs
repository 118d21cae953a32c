//! RouDi 2.0.3: Debian's library in a process of its own, with pools sized for robots' messages.
//!
//! The worker of Cyclone DDS 0.10, which is built on the same iceoryx, also starts RouDi by this
//! module.

use std::ffi::{c_char, c_void, CString};
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{Configuration, Daemon, Error, SessionConfig};
use rmwbench_roudi::installed::{written, RULES, SOCKET};
use rmwbench_roudi::Pool;
pub use rmwbench_roudi::{MODE, NAME, POOLS};

const PATIENCE: Duration = Duration::from_secs(20);

extern "C" {
    fn rmwbench_roudi_start(file: *const c_char) -> *mut c_void;
    fn rmwbench_roudi_stop(daemon: *mut c_void);
}

/// A RouDi that serves; dropping it removes its segments, sockets and locks.
pub struct RouDi(*mut c_void);

impl RouDi {
    /// Starts RouDi in this process. Errors: invalid pools; any other error ends the process with
    /// iceoryx's text.
    pub fn start(config: &SessionConfig) -> Result<RouDi, Error> {
        let configuration = configuration(config)?;
        rmwbench_roudi::refuse_second(SOCKET)?;
        // The file is read once, at the start; without a file RouDi is as installed.
        let mut path = String::new();
        if let Some(configuration) = &configuration {
            let file =
                std::env::temp_dir().join(format!("rmwbench-roudi-{}.toml", std::process::id()));
            std::fs::write(&file, &configuration.text)
                .map_err(|e| Error::failed(file.display().to_string(), e))?;
            path = file.display().to_string();
        }
        let c_path = CString::new(path.clone())
            .map_err(|_| Error::invalid("TMPDIR", "it contains a NUL byte"))?;
        // SAFETY: the string outlives the call.
        let daemon = unsafe { rmwbench_roudi_start(c_path.as_ptr()) };
        if !path.is_empty() {
            let _ = std::fs::remove_file(&path);
        }
        if daemon.is_null() {
            return Err(Error::invalid(
                format!("profile {}", config.profile.name),
                "RouDi does not understand it; its words are in the log",
            ));
        }
        let roudi = RouDi(daemon);
        // RouDi's own thread opens the socket.
        let deadline = Instant::now() + PATIENCE;
        while !is_running() {
            if Instant::now() > deadline {
                return Err(Error::failed(
                    "daemon roudi",
                    format!("it does not listen at {SOCKET} after {PATIENCE:?}"),
                ));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(roudi)
    }
}

impl Daemon for RouDi {}

impl Drop for RouDi {
    fn drop(&mut self) {
        // SAFETY: ours, ended once.
        unsafe { rmwbench_roudi_stop(self.0) };
    }
}

/// Whether a RouDi serves this host.
pub fn is_running() -> bool {
    rmwbench_roudi::listens(SOCKET)
}

/// The configuration file with which to start RouDi: that of the option or modes; else the profile,
/// if it is RouDi's own; else the default pools. None: a profile with RouDi as installed.
pub fn configuration(config: &SessionConfig) -> Result<Option<Configuration>, Error> {
    if let Some(pools) = pools(config)? {
        return Ok(Some(of_pools(&pools)));
    }
    let profile = &config.profile;
    Ok(match profile.format.as_str() {
        "toml" if profile.text.trim().is_empty() => None,
        "toml" => Some(Configuration { format: "toml".into(), text: profile.text.clone() }),
        _ => Some(of_pools(&RULES.default_pools())),
    })
}

/// The pools that option or modes request, smallest first; None if neither does.
pub fn pools(config: &SessionConfig) -> Result<Option<Vec<Pool>>, Error> {
    RULES.requested_pools(config)
}

/// The largest size that a configuration file of RouDi contains.
pub fn largest(text: &str) -> Option<u64> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines
        .filter_map(|line| {
            line.trim().strip_prefix("size")?.trim_start().strip_prefix('=')?.trim().parse().ok()
        })
        .max()
}

fn of_pools(pools: &[Pool]) -> Configuration {
    Configuration { format: "toml".into(), text: written(pools) }
}

#[cfg(test)]
mod tests {
    use rmwbench_conformance::pair;

    use super::*;

    #[test]
    fn a_profile_of_roudis_own_is_taken_as_it_is() {
        let mut own = pair::session(&pair::profile("toml", ""), 0);
        assert_eq!(configuration(&own).unwrap(), None, "as installed");
        own.profile.text = "[general]".into();
        assert_eq!(configuration(&own).unwrap().unwrap().text, "[general]");
        let pools =
            [Pool { chunk_bytes: 1025 << 10, chunks: 3 }, Pool { chunk_bytes: 64, chunks: 1 }];
        assert_eq!(largest(&written(&pools)), Some(1025 << 10));
        assert_eq!(largest("[general] # size = 7"), None);
        own.profile.format = "xml".into();
        assert!(
            configuration(&own).unwrap().unwrap().text.contains("[[segment.mempool]]"),
            "another format: the default pools"
        );
    }
}
