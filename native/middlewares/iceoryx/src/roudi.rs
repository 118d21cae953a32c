//! RouDi 2.0.3, the daemon that owns iceoryx's shared memory: Debian's own `iox-roudi`, with pools sized for robots' messages.
//!
//! It is a child of this process. As installed its largest pools are 30 chunks of 1 MiB and 10 of 4 MiB, headers included, and iceoryx
//! takes the smallest pool whose chunks fit and never a larger one: images exhaust them at once. The worker of Cyclone DDS 0.10, which is
//! built on the same iceoryx, includes this file.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{Configuration, Daemon, Error, SessionConfig};

pub const NAME: &str = "roudi";
/// The option that sizes its pools one by one.
pub const POOLS: &str = "roudi_pools";
/// The modes that size them in a portable way.
pub const MODES: [&str; 2] = ["shm_pool_bytes", "shm_layout"];
/// Message size and count: 468 MiB, which RouDi reserves; a page is taken when it is first written.
const DEFAULT_POOLS: &str = "1K:4096 4K:2048 16K:2048 64K:256 256K:64 1M:48 2M:24 4M:24 8M:24";
/// The one size of a unified layout: the largest message of the shipped suites.
const UNIFIED_BYTES: u64 = 8 << 20;
/// Room in each chunk beyond the message size, for the parts of a message around its payload and the middleware's headers.
const MARGIN_BYTES: u64 = 1024;
/// Where RouDi listens.
const SOCKET: &str = "/tmp/roudi";
const PROGRAM: &str = "iox-roudi";
/// Seconds that RouDi gives a process of its own before it kills it; by default 45.
const KILL_DELAY: &str = "1";
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    pub chunk_bytes: u64,
    pub chunks: u64,
}

/// A RouDi that serves; dropping it ends it, and it removes its segments, sockets and locks.
pub struct RouDi {
    child: Child,
    file: PathBuf,
}

impl RouDi {
    pub fn start(config: &SessionConfig) -> Result<RouDi, Error> {
        let object = || "daemon roudi".to_string();
        let pools = pools(config)?;
        if is_running() {
            return Err(Error::failed(object(), format!("another RouDi serves this host already ({SOCKET})")));
        }
        let file = std::env::temp_dir().join(format!("rmwbench-roudi-{}.toml", std::process::id()));
        std::fs::write(&file, configuration(&pools).text).map_err(|e| Error::failed(file.display().to_string(), e))?;
        let mut command = Command::new(PROGRAM);
        command.arg("-c").arg(&file).args(["-l", "warning", "-k", KILL_DELAY]);
        // SAFETY: a plain system call between fork and exec. RouDi ends in order when this process is killed.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
        let child = command.spawn().map_err(|e| {
            let _ = std::fs::remove_file(&file);
            match e.kind() {
                ErrorKind::NotFound => Error::failed(object(), format!("{PROGRAM} is missing: sudo apt-get install iceoryx")),
                _ => Error::failed(object(), format!("{PROGRAM}: {e}")),
            }
        })?;
        let mut roudi = RouDi { child, file };
        let deadline = Instant::now() + PATIENCE;
        while !is_running() {
            if let Ok(Some(status)) = roudi.child.try_wait() {
                return Err(Error::failed(object(), format!("{PROGRAM} ended with {status}; its words are in the log")));
            }
            if Instant::now() > deadline {
                return Err(Error::failed(object(), format!("{PROGRAM} does not listen at {SOCKET} after {PATIENCE:?}")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(roudi)
    }
}

impl Daemon for RouDi {}

impl Drop for RouDi {
    fn drop(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        // SAFETY: a child of ours that nobody has waited for yet.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Whether a RouDi listens in this host. Without one iceoryx waits for a minute and then ends the process.
pub fn is_running() -> bool {
    let connected = UnixDatagram::unbound().and_then(|socket| socket.connect(SOCKET));
    // A socket that we may not connect to has an owner too.
    connected.map_or_else(|error| error.kind() == ErrorKind::PermissionDenied, |()| true)
}

/// The pools that option and modes ask for, smallest first.
pub fn pools(config: &SessionConfig) -> Result<Vec<Pool>, Error> {
    let total: Option<u64> = config.mode("shm_pool_bytes")?;
    let layout: Option<String> = config.mode("shm_layout")?;
    let asked: Option<String> = config.option(POOLS, None)?;
    if asked.is_some() && (total.is_some() || layout.is_some()) {
        return Err(Error::invalid(format!("option {POOLS}"), "it contradicts mode shm_pool_bytes or shm_layout: give one of them"));
    }
    let text = asked.unwrap_or_else(|| DEFAULT_POOLS.to_string());
    let mut pools = listed(&text)?;
    let whole: u64 = pools.iter().map(|p| p.chunk_bytes * p.chunks).sum();
    if layout.as_deref() == Some("unified") {
        let chunk_bytes = UNIFIED_BYTES + MARGIN_BYTES;
        pools = vec![Pool { chunk_bytes, chunks: total.unwrap_or(whole) / chunk_bytes }];
    } else if let Some(total) = total {
        for pool in &mut pools {
            pool.chunks = (u128::from(pool.chunks) * u128::from(total) / u128::from(whole)) as u64;
        }
        pools.retain(|pool| pool.chunks > 0);
    }
    if pools.iter().all(|pool| pool.chunks == 0) {
        return Err(Error::invalid("mode shm_pool_bytes", format!("{} bytes hold no chunk", total.unwrap_or(whole))));
    }
    Ok(pools)
}

fn listed(text: &str) -> Result<Vec<Pool>, Error> {
    let invalid = |message: String| Error::invalid(format!("option {POOLS}"), message);
    let mut pools = Vec::new();
    for item in text.split_whitespace() {
        let pool = pool(item).ok_or_else(|| invalid(format!("{item:?}: expected SIZE:COUNT, such as 1M:64 (sizes in bytes, K or M)")))?;
        pools.push(pool);
    }
    pools.sort_by_key(|pool| pool.chunk_bytes);
    match pools.len() {
        0 => Err(invalid("expected at least one SIZE:COUNT".into())),
        1..=32 => Ok(pools),
        more => Err(invalid(format!("{more} pools: iceoryx has room for 32"))),
    }
}

fn pool(item: &str) -> Option<Pool> {
    let (size, count) = item.split_once(':')?;
    let (digits, unit) = match size.as_bytes().last()? {
        b'K' => (&size[..size.len() - 1], 1 << 10),
        b'M' => (&size[..size.len() - 1], 1 << 20),
        _ => (size, 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).filter(|&bytes| bytes > 0 && bytes <= 1 << 31)?;
    // iceoryx takes multiples of 32.
    let chunk_bytes = (bytes + MARGIN_BYTES).next_multiple_of(32);
    Some(Pool { chunk_bytes, chunks: count.parse::<u32>().ok().filter(|&chunks| chunks > 0)?.into() })
}

/// RouDi's own configuration file.
pub fn configuration(pools: &[Pool]) -> Configuration {
    let mut text = "[general]\nversion = 1\n\n[[segment]]\n".to_string();
    for pool in pools {
        text += &format!("\n[[segment.mempool]]\nsize = {}\ncount = {}\n", pool.chunk_bytes, pool.chunks);
    }
    Configuration { format: "toml".into(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmwbench_harness::middleware::{ErrorKind, Profile};
    use serde_json::{json, Value};

    fn asked(option: Option<&str>, modes: &[(&str, Value)]) -> SessionConfig {
        let profile = Profile { name: "p".into(), format: "toml".into(), text: String::new(), summary: String::new() };
        let options = option.map(|text| (POOLS.to_string(), json!(text))).into_iter().collect();
        let modes = modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
        SessionConfig { profile, options, modes, domain_id: 0, trial_nonce: 1 }
    }

    fn bytes(pools: &[Pool]) -> u64 {
        pools.iter().map(|p| p.chunk_bytes * p.chunks).sum()
    }

    #[test]
    fn pools_are_sorted_and_have_room_for_headers() {
        let pools = pools(&asked(Some("1M:3 100:7 16K:2"), &[])).unwrap();
        let expected = [(1152, 7), (17 * 1024, 2), (1025 * 1024, 3)];
        assert_eq!(pools, expected.map(|(chunk_bytes, chunks)| Pool { chunk_bytes, chunks }));
    }

    #[test]
    fn modes_scale_the_tiers_or_make_one_of_all() {
        let tiers = pools(&asked(None, &[])).unwrap();
        assert_eq!((tiers.len(), bytes(&tiers) >> 20), (9, 468));
        let half = pools(&asked(None, &[("shm_pool_bytes", json!(234 << 20)), ("shm_layout", json!("tiered"))])).unwrap();
        assert!(half.len() == 9 && bytes(&half) <= 234 << 20 && bytes(&half) > 220 << 20, "{half:?}");
        let one = pools(&asked(None, &[("shm_pool_bytes", json!(100 << 20)), ("shm_layout", json!("unified"))])).unwrap();
        assert_eq!(one, [Pool { chunk_bytes: (8 << 20) + 1024, chunks: 11 }]);
        assert_eq!(pools(&asked(None, &[("shm_pool_bytes", json!(100))])).unwrap_err().object, "mode shm_pool_bytes");
        assert_eq!(pools(&asked(Some("1M:3"), &[("shm_layout", json!("tiered"))])).unwrap_err().kind, ErrorKind::Invalid);
    }

    #[test]
    fn what_is_no_list_of_pools_is_refused() {
        for text in ["", "1M", "1M:0", "0:4", "1G:4", "x:4", "1M:-1", "1M:4,2M:4", "4096M:1", "M:1"] {
            let error = pools(&asked(Some(text), &[])).unwrap_err();
            assert_eq!((error.kind, error.object.as_str()), (ErrorKind::Invalid, "option roudi_pools"), "{text}");
        }
        assert!(pools(&asked(Some(&"1K:1 ".repeat(33)), &[])).is_err());
    }
}
