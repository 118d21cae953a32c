//! RouDi 2.0.3, the daemon that owns iceoryx's shared memory: Debian's library in a process of its
//! own, with pools sized for robots' messages.
//!
//! As installed its largest pools are 30 chunks of 1 MiB and 10 of 4 MiB, headers included, and
//! iceoryx takes the smallest pool whose chunks fit and never a larger one: images exhaust them at
//! once. The worker of Cyclone DDS 0.10, which is built on the same iceoryx, includes this file and
//! `shim/roudi.cpp`.

use std::ffi::{c_char, c_void, CString};
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
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
/// Room in each chunk beyond the message size, for the parts of a message around its payload and
/// the middleware's headers.
const MARGIN_BYTES: u64 = 1024;
/// Where RouDi listens.
const SOCKET: &str = "/tmp/roudi";
const PATIENCE: Duration = Duration::from_secs(20);

extern "C" {
    fn rmwbench_roudi_start(file: *const c_char) -> *mut c_void;
    fn rmwbench_roudi_stop(daemon: *mut c_void);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    pub chunk_bytes: u64,
    pub chunks: u64,
}

/// A RouDi that serves; dropping it removes its segments, sockets and locks.
pub struct RouDi(*mut c_void);

impl RouDi {
    /// Starts it in this process. Errors: pools that make no sense; whatever else goes wrong ends
    /// the process in iceoryx's words.
    pub fn start(config: &SessionConfig) -> Result<RouDi, Error> {
        let configuration = configuration(config)?;
        if is_running() {
            return Err(Error::failed(
                "daemon roudi",
                format!("another RouDi serves this host already ({SOCKET})"),
            ));
        }
        // Read once, at the start; without a file RouDi is as it is installed.
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
        // SAFETY: a string that outlives the call.
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
        // Its own thread opens the socket.
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

/// Whether a RouDi listens in this host. Without one iceoryx waits for a minute and then ends the
/// process.
pub fn is_running() -> bool {
    let connected = UnixDatagram::unbound().and_then(|socket| socket.connect(SOCKET));
    // A socket that we may not connect to has an owner too.
    connected.map_or_else(|error| error.kind() == ErrorKind::PermissionDenied, |()| true)
}

/// The configuration file to start RouDi with: what option or modes ask for; else the profile,
/// where that is RouDi's own; else the default pools. None: a profile that leaves RouDi as it is
/// installed.
pub fn configuration(config: &SessionConfig) -> Result<Option<Configuration>, Error> {
    if let Some(pools) = pools(config)? {
        return Ok(Some(written(&pools)));
    }
    let profile = &config.profile;
    Ok(match profile.format.as_str() {
        "toml" if profile.text.trim().is_empty() => None,
        "toml" => Some(Configuration { format: "toml".into(), text: profile.text.clone() }),
        _ => Some(written(&listed(DEFAULT_POOLS)?)),
    })
}

/// The pools that option or modes ask for, smallest first; None where neither does.
pub fn pools(config: &SessionConfig) -> Result<Option<Vec<Pool>>, Error> {
    let total: Option<u64> = config.mode("shm_pool_bytes")?;
    let layout: Option<String> = config.mode("shm_layout")?;
    let asked: Option<String> = config.option(POOLS, None)?;
    let by_mode = total.is_some() || layout.is_some();
    match &asked {
        Some(_) if by_mode => {
            let message = "it contradicts mode shm_pool_bytes or shm_layout: give one of them";
            return Err(Error::invalid(format!("option {POOLS}"), message));
        }
        Some(text) => return listed(text).map(Some),
        None if !by_mode => return Ok(None),
        None => {}
    }
    let mut pools = listed(DEFAULT_POOLS)?;
    let whole: u64 = pools.iter().map(|p| p.chunk_bytes * p.chunks).sum();
    let total = total.unwrap_or(whole);
    if layout.as_deref() == Some("unified") {
        let chunk_bytes = UNIFIED_BYTES + MARGIN_BYTES;
        pools = vec![Pool { chunk_bytes, chunks: total / chunk_bytes }];
    } else {
        for pool in &mut pools {
            pool.chunks = (u128::from(pool.chunks) * u128::from(total) / u128::from(whole)) as u64;
        }
    }
    pools.retain(|pool| pool.chunks > 0);
    if pools.is_empty() {
        return Err(Error::invalid("mode shm_pool_bytes", format!("{total} bytes hold no chunk")));
    }
    Ok(Some(pools))
}

fn listed(text: &str) -> Result<Vec<Pool>, Error> {
    let invalid = |message: String| Error::invalid(format!("option {POOLS}"), message);
    let mut pools = Vec::new();
    for item in text.split_whitespace() {
        let pool = pool(item).ok_or_else(|| {
            invalid(format!(
                "{item:?}: expected SIZE:COUNT, such as 1M:64 (sizes in bytes, K or M)"
            ))
        })?;
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
    let bytes = digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(unit))
        .filter(|&bytes| bytes > 0 && bytes <= 1 << 31)?;
    // iceoryx takes multiples of 32.
    let chunk_bytes = (bytes + MARGIN_BYTES).next_multiple_of(32);
    Some(Pool {
        chunk_bytes,
        chunks: count.parse::<u32>().ok().filter(|&chunks| chunks > 0)?.into(),
    })
}

/// The largest size that a configuration file of RouDi's names.
pub fn largest(text: &str) -> Option<u64> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines
        .filter_map(|line| {
            line.trim().strip_prefix("size")?.trim_start().strip_prefix('=')?.trim().parse().ok()
        })
        .max()
}

fn written(pools: &[Pool]) -> Configuration {
    let mut text = "[general]\nversion = 1\n\n[[segment]]\n".to_string();
    for pool in pools {
        text += &format!(
            "\n[[segment.mempool]]\nsize = {}\ncount = {}\n",
            pool.chunk_bytes, pool.chunks
        );
    }
    Configuration { format: "toml".into(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmwbench_harness::middleware::{ErrorKind, Profile};
    use serde_json::{json, Value};

    fn asked(option: Option<&str>, modes: &[(&str, Value)]) -> SessionConfig {
        let profile = Profile {
            name: "p".into(),
            format: "toml".into(),
            text: String::new(),
            summary: String::new(),
        };
        let options = option.map(|text| (POOLS.to_string(), json!(text))).into_iter().collect();
        let modes = modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
        SessionConfig { profile, options, modes, domain_id: 0, trial_nonce: 1 }
    }

    fn bytes(pools: &[Pool]) -> u64 {
        pools.iter().map(|p| p.chunk_bytes * p.chunks).sum()
    }

    #[test]
    fn pools_are_sorted_and_have_room_for_headers() {
        let pools = pools(&asked(Some("1M:3 100:7 16K:2"), &[])).unwrap().unwrap();
        let expected = [(1152, 7), (17 * 1024, 2), (1025 * 1024, 3)];
        assert_eq!(pools, expected.map(|(chunk_bytes, chunks)| Pool { chunk_bytes, chunks }));
    }

    #[test]
    fn modes_scale_the_tiers_or_make_one_of_all() {
        assert_eq!(pools(&asked(None, &[])).unwrap(), None);
        let tiers = pools(&asked(None, &[("shm_layout", json!("tiered"))])).unwrap().unwrap();
        assert_eq!((tiers.len(), bytes(&tiers) >> 20), (9, 468));
        let half = pools(&asked(
            None,
            &[("shm_pool_bytes", json!(234 << 20)), ("shm_layout", json!("tiered"))],
        ))
        .unwrap()
        .unwrap();
        assert!(
            half.len() == 9 && bytes(&half) <= 234 << 20 && bytes(&half) > 200 << 20,
            "{half:?}"
        );
        let one = pools(&asked(
            None,
            &[("shm_pool_bytes", json!(100 << 20)), ("shm_layout", json!("unified"))],
        ))
        .unwrap()
        .unwrap();
        assert_eq!(one, [Pool { chunk_bytes: (8 << 20) + 1024, chunks: 12 }]);
        assert_eq!(
            pools(&asked(None, &[("shm_pool_bytes", json!(100))])).unwrap_err().object,
            "mode shm_pool_bytes"
        );
        assert_eq!(
            pools(&asked(Some("1M:3"), &[("shm_layout", json!("tiered"))])).unwrap_err().kind,
            ErrorKind::Invalid
        );
    }

    #[test]
    fn a_profile_of_roudis_own_is_taken_as_it_is() {
        assert_eq!(configuration(&asked(None, &[])).unwrap(), None, "as installed");
        let mut own = asked(None, &[]);
        own.profile.text = "[general]".into();
        assert_eq!(configuration(&own).unwrap().unwrap().text, "[general]");
        assert_eq!(largest(&written(&listed("1M:3 64:1").unwrap()).text), Some(1025 << 10));
        assert_eq!(largest("[general] # size = 7"), None);
        own.profile.format = "xml".into();
        assert!(
            configuration(&own).unwrap().unwrap().text.contains("[[segment.mempool]]"),
            "another format: the default pools"
        );
    }

    #[test]
    fn what_is_not_a_list_of_pools_is_refused() {
        for text in ["", "1M", "1M:0", "0:4", "1G:4", "x:4", "1M:-1", "1M:4,2M:4", "4096M:1", "M:1"]
        {
            let error = pools(&asked(Some(text), &[])).unwrap_err();
            assert_eq!(
                (error.kind, error.object.as_str()),
                (ErrorKind::Invalid, "option roudi_pools"),
                "{text}"
            );
        }
        assert!(pools(&asked(Some(&"1K:1 ".repeat(33)), &[])).is_err());
    }
}
