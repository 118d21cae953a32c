//! RouDi, the daemon that owns iceoryx's shared memory: PSMX works only while one runs in the same
//! host.
//!
//! It is the RouDi of the iceoryx that this worker is linked with (Debian's iox-roudi 2.0.3 speaks
//! another protocol), in a process of its own, with pools sized for robots' messages: iceoryx takes
//! the smallest pool whose chunks fit and never a larger one, so its own default (30 of 1 MiB, 10
//! of 4 MiB, headers included) puts 1 MiB messages into the ten largest chunks.

use std::ffi::c_void;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;

use rmwbench_harness::middleware::{Daemon, Error, SessionConfig};
use serde::Deserialize;

pub const NAME: &str = "roudi";
/// Why a shared host has none: the names of its socket and segments are compiled into iceoryx.
pub const ONE_PER_MACHINE: &str = "iceoryx has one RouDi under one name per machine, and applications of a robot here would join it";
/// The option that sizes its pools.
pub const POOLS: &str = "roudi_pools";
/// The modes that do.
pub const POOL_BYTES: &str = "shm_pool_bytes";
pub const LAYOUT: &str = "shm_layout";
/// Message size and count: 468 MiB, which RouDi writes once when it starts. A reader that does not
/// take holds its history's depth in iceoryx and as many in Cyclone's cache: 24 of a size is one of
/// ROS 2's default depth, and the writer's next messages.
const DEFAULT_POOLS: &str = "1K:4096 4K:2048 16K:2048 64K:256 256K:64 1M:48 2M:24 4M:24 8M:24";
/// Room in each chunk beyond the message size for the parts of a message around its payload and
/// Cyclone's header.
const MARGIN_BYTES: u64 = 1024;
/// Where RouDi listens, as iceoryx names it.
const SOCKET: &str = "/tmp/iox1_0_i_roudi";

/// `struct rmwbench_pool` of roudi/roudi.cpp.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    chunk_bytes: u64,
    chunks: u32,
}

impl Pool {
    fn bytes(&self) -> u64 {
        self.chunk_bytes * u64::from(self.chunks)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Layout {
    /// One pool, of chunks for the largest messages of the default.
    Unified,
    /// The default's sizes, in the default's proportions.
    Tiered,
}

extern "C" {
    fn rmwbench_roudi_start(pools: *const Pool, count: usize) -> *mut c_void;
    fn rmwbench_roudi_stop(daemon: *mut c_void);
}

/// A RouDi that serves; dropping it removes its segments, sockets and locks.
pub struct RouDi(*mut c_void);

impl RouDi {
    /// Starts it in this process. Errors: pools that make no sense; whatever else goes wrong ends
    /// the process in iceoryx's words.
    pub fn start(config: &SessionConfig) -> Result<RouDi, Error> {
        let pools = pools(config)?;
        if is_running() {
            return Err(Error::failed(
                "daemon roudi",
                format!("another RouDi serves this host already ({SOCKET})"),
            ));
        }
        // SAFETY: the list outlives the call, which copies it.
        Ok(RouDi(unsafe { rmwbench_roudi_start(pools.as_ptr(), pools.len()) }))
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

/// The RouDi that serves this host now, so that another one can be told from it; None when none
/// does.
pub fn serving() -> Option<Serving> {
    let file = std::fs::metadata(SOCKET).ok()?;
    is_running().then(|| Serving { inode: file.ino(), made: (file.ctime(), file.ctime_nsec()) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serving {
    inode: u64,
    made: (i64, i64),
}

/// The pools that the option or the modes ask for, smallest first.
pub fn pools(config: &SessionConfig) -> Result<Vec<Pool>, Error> {
    let text: Option<String> = config.option(POOLS, None)?;
    let (bytes, layout) = (config.mode(POOL_BYTES)?, config.mode(LAYOUT)?);
    match (text, bytes.is_some() || layout.is_some()) {
        (Some(_), true) => Err(Error::invalid(
            format!("option {POOLS}"),
            format!("it says what the modes {POOL_BYTES} and {LAYOUT} say"),
        )),
        (None, true) => laid_out(layout.unwrap_or(Layout::Tiered), bytes),
        (text, false) => listed(text.as_deref().unwrap_or(DEFAULT_POOLS)),
    }
}

/// Pools of `bytes` in all, headers included, or less by what no whole chunk fits in; as large as
/// the default where that is None.
fn laid_out(layout: Layout, bytes: Option<u64>) -> Result<Vec<Pool>, Error> {
    let mut pools = listed(DEFAULT_POOLS)?;
    let whole: u64 = pools.iter().map(Pool::bytes).sum();
    let bytes = bytes.unwrap_or(whole);
    let least = match layout {
        Layout::Tiered => {
            let least =
                pools.iter().map(|pool| whole.div_ceil(u64::from(pool.chunks))).max().unwrap_or(0);
            pools.iter_mut().for_each(|pool| {
                pool.chunks =
                    (u128::from(pool.chunks) * u128::from(bytes) / u128::from(whole)) as u32
            });
            least
        }
        Layout::Unified => {
            pools.drain(..pools.len() - 1);
            pools[0].chunks = u32::try_from(bytes / pools[0].chunk_bytes).unwrap_or(u32::MAX);
            pools[0].chunk_bytes
        }
    };
    if bytes < least {
        let message =
            format!("{bytes}: RouDi's pools need at least {least} bytes for a chunk of each size");
        return Err(Error::unsupported(format!("mode {POOL_BYTES}"), message));
    }
    Ok(pools)
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

/// The pools in words, for a note.
pub fn described(pools: &[Pool]) -> String {
    let pools: Vec<String> =
        pools.iter().map(|pool| format!("{} × {} bytes", pool.chunks, pool.chunk_bytes)).collect();
    format!("RouDi's pools as the modes ask: {}", pools.join(", "))
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
    // iceoryx takes multiples of 8.
    Some(Pool {
        chunk_bytes: (bytes + MARGIN_BYTES).next_multiple_of(8),
        chunks: count.parse().ok().filter(|&chunks| chunks > 0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmwbench_harness::middleware::{ErrorKind, Profile};
    use serde_json::json;

    fn with(text: Option<&str>) -> SessionConfig {
        let profile = Profile {
            name: "shm".into(),
            format: "xml".into(),
            text: String::new(),
            summary: String::new(),
        };
        let options = text.map(|text| (POOLS.to_string(), json!(text))).into_iter().collect();
        SessionConfig { profile, options, modes: Default::default(), domain_id: 0, trial_nonce: 1 }
    }

    #[test]
    fn pools_are_sorted_and_have_room_for_headers() {
        let pools = pools(&with(Some("1M:3 100:7 16K:2"))).unwrap();
        let expected = [(1128, 7), (17 * 1024, 2), (1025 * 1024, 3)];
        assert_eq!(pools, expected.map(|(chunk_bytes, chunks)| Pool { chunk_bytes, chunks }));
    }

    #[test]
    fn the_default_is_as_large_as_its_comment_says() {
        let bytes: u64 = pools(&with(None)).unwrap().iter().map(Pool::bytes).sum();
        assert_eq!(bytes >> 20, 468);
    }

    #[test]
    fn modes_size_and_lay_out_the_pools() {
        let asked = |modes: &[(&str, serde_json::Value)]| {
            let modes =
                modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
            pools(&SessionConfig { modes, ..with(None) })
        };
        let bytes = |pools: &[Pool]| pools.iter().map(Pool::bytes).sum::<u64>();
        let (default, half) = (pools(&with(None)).unwrap(), 234_u64 << 20);
        assert_eq!(asked(&[(LAYOUT, json!("tiered"))]).unwrap(), default);
        let tiered = asked(&[(POOL_BYTES, json!(half))]).unwrap();
        assert_eq!(tiered.len(), default.len());
        assert!((half * 9 / 10..=half).contains(&bytes(&tiered)), "{tiered:?}");
        let unified = asked(&[(LAYOUT, json!("unified")), (POOL_BYTES, json!(half))]).unwrap();
        assert_eq!(unified, [Pool { chunk_bytes: (8 << 20) + 1024, chunks: 29 }]);
        for modes in [
            vec![(POOL_BYTES, json!(1 << 20))],
            vec![(LAYOUT, json!("unified")), (POOL_BYTES, json!(8 << 20))],
        ] {
            let error = asked(&modes).unwrap_err();
            assert_eq!(
                (error.kind, error.object.as_str()),
                (ErrorKind::Unsupported, "mode shm_pool_bytes"),
                "{error}"
            );
        }
        let twice = SessionConfig {
            modes: [(LAYOUT.to_string(), json!("tiered"))].into(),
            ..with(Some("1M:3"))
        };
        assert_eq!(pools(&twice).unwrap_err().kind, ErrorKind::Invalid);
    }

    #[test]
    fn what_is_not_a_list_of_pools_is_refused() {
        for text in ["", "1M", "1M:0", "0:4", "1G:4", "x:4", "1M:-1", "1M:4,2M:4", "4096M:1", "M:1"]
        {
            let error = pools(&with(Some(text))).unwrap_err();
            assert_eq!(
                (error.kind, error.object.as_str()),
                (ErrorKind::Invalid, "option roudi_pools"),
                "{text}"
            );
        }
        assert!(pools(&with(Some(&"1K:1 ".repeat(33)))).is_err());
    }
}
