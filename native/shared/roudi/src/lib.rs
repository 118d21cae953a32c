//! RouDi, the daemon that owns iceoryx's shared memory: the parts that are equal for every iceoryx,
//! which are its pools, set by option or mode, and whether one serves. The worker that links a
//! RouDi starts it.
//!
//! As installed its largest pools are 30 chunks of 1 MiB and 10 of 4 MiB, headers included, and
//! iceoryx takes the smallest pool whose chunks fit and never a larger one, so images exhaust them
//! at once. Therefore workers have pools sized for robots' messages.

pub mod installed;

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;

use rmwbench_harness::middleware::{Error, SessionConfig};

/// The name of the daemon, for [`rmwbench_harness::middleware::Middleware::daemons`].
pub const NAME: &str = "roudi";
/// The option that sets the size of each pool.
pub const POOLS: &str = "roudi_pools";
/// The mode that sets their sizes in a portable way.
pub const MODE: &str = "shm_pool_bytes";
/// Message size and count: 468 MiB. A reader that does not take holds its history's depth in
/// iceoryx and may hold as many in its middleware's cache: 24 chunks of a size are one reader with
/// ROS 2's default depth, and the writer's next messages.
const DEFAULT_POOLS: &str = "1K:4096 4K:2048 16K:2048 64K:256 256K:64 1M:48 2M:24 4M:24 8M:24";
/// The room in each chunk beyond the message size, for the parts of a message around its payload
/// and the middleware's headers.
const MARGIN_BYTES: u64 = 1024;

/// Chunks of one size; C uses the same struct (`struct rmwbench_pool` in the worker of Cyclone
/// DDS).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    pub chunk_bytes: u64,
    pub chunks: u32,
}

impl Pool {
    pub fn bytes(&self) -> u64 {
        self.chunk_bytes * u64::from(self.chunks)
    }
}

/// The rules of an iceoryx release for pools.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A chunk's size is a multiple of this.
    pub multiple_bytes: u64,
    /// What happens if the total is so small that not every pool has a chunk.
    pub few: Few,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Few {
    /// Such a total is not supported.
    Refused,
    /// Pools without a chunk are left out.
    LeftOut,
}

/// Refuses a daemon with another name.
pub fn named(name: &str) -> Result<(), Error> {
    match name {
        NAME => Ok(()),
        other => Err(Error::unsupported(
            format!("daemon {other}"),
            format!("unknown `{other}`, expected `{NAME}`"),
        )),
    }
}

/// Whether a RouDi listens at `socket`, in this host. Without one, iceoryx waits for a minute and
/// then ends the process.
pub fn listens(socket: &str) -> bool {
    let connected = UnixDatagram::unbound().and_then(|own| own.connect(socket));
    // A socket to which this process may not connect has an owner, too.
    connected.map_or_else(|error| error.kind() == ErrorKind::PermissionDenied, |()| true)
}

/// Refuses to start if a RouDi already serves.
pub fn refuse_second(socket: &str) -> Result<(), Error> {
    if listens(socket) {
        let message = format!("another RouDi serves this host already ({socket})");
        return Err(Error::failed(format!("daemon {NAME}"), message));
    }
    Ok(())
}

impl Rules {
    pub fn default_pools(&self) -> Vec<Pool> {
        self.listed(DEFAULT_POOLS).expect("written here")
    }

    /// The pools that option or mode requests, smallest first; None if neither does.
    pub fn requested_pools(&self, config: &SessionConfig) -> Result<Option<Vec<Pool>>, Error> {
        let text: Option<String> = config.option(POOLS, None)?;
        match (text, config.mode(MODE)?) {
            (Some(_), Some(_)) => Err(Error::invalid(
                format!("option {POOLS}"),
                format!("it says what the mode {MODE} says: give one of them"),
            )),
            (None, Some(bytes)) => self.scaled(bytes).map(Some),
            (Some(text), None) => self.listed(&text).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The default's sizes in the default's proportions: `bytes` in all, headers included, or less
    /// by the rest that no whole chunk fits.
    fn scaled(&self, bytes: u64) -> Result<Vec<Pool>, Error> {
        let mut pools = self.default_pools();
        let whole: u64 = pools.iter().map(Pool::bytes).sum();
        let chunks = pools.iter().map(|pool| u64::from(pool.chunks));
        let least = chunks.map(|chunks| whole.div_ceil(chunks)).max().unwrap_or(0);
        for pool in &mut pools {
            let scaled = u128::from(pool.chunks) * u128::from(bytes) / u128::from(whole);
            pool.chunks = scaled as u32;
        }
        match self.few {
            Few::Refused if bytes < least => {
                let message = format!(
                    "{bytes}: RouDi's pools need at least {least} bytes for a chunk of each size"
                );
                Err(Error::unsupported(format!("mode {MODE}"), message))
            }
            Few::Refused => Ok(pools),
            Few::LeftOut => {
                pools.retain(|pool| pool.chunks > 0);
                if pools.is_empty() {
                    let message = format!("{bytes} bytes hold no chunk");
                    return Err(Error::invalid(format!("mode {MODE}"), message));
                }
                Ok(pools)
            }
        }
    }

    /// The pools of a list such as `1M:48 8M:24`, smallest first. Errors: any other text.
    pub fn listed(&self, text: &str) -> Result<Vec<Pool>, Error> {
        let invalid = |message: String| Error::invalid(format!("option {POOLS}"), message);
        let mut pools = Vec::new();
        for item in text.split_whitespace() {
            let pool = self.pool(item).ok_or_else(|| {
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

    fn pool(&self, item: &str) -> Option<Pool> {
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
        Some(Pool {
            chunk_bytes: (bytes + MARGIN_BYTES).next_multiple_of(self.multiple_bytes),
            chunks: count.parse().ok().filter(|&chunks| chunks > 0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rmwbench_harness::middleware::{ErrorKind, Profile};
    use serde_json::{json, Value};

    use super::*;

    const REFUSED: Rules = Rules { multiple_bytes: 8, few: Few::Refused };
    const LEFT_OUT: Rules = Rules { multiple_bytes: 32, few: Few::LeftOut };

    fn config_with(option: Option<&str>, modes: &[(&str, Value)]) -> SessionConfig {
        let profile = Profile {
            name: "p".into(),
            format: "xml".into(),
            text: String::new(),
            summary: String::new(),
        };
        let options = option.map(|text| (POOLS.to_string(), json!(text))).into_iter().collect();
        let modes: BTreeMap<String, Value> =
            modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
        SessionConfig { profile, options, modes, domain_id: 0, trial_nonce: 1 }
    }

    fn bytes(pools: &[Pool]) -> u64 {
        pools.iter().map(Pool::bytes).sum()
    }

    #[test]
    fn pools_are_sorted_and_have_room_for_headers() {
        for (rules, smallest) in [(REFUSED, 1128), (LEFT_OUT, 1152)] {
            let pools = rules
                .requested_pools(&config_with(Some("1M:3 100:7 16K:2"), &[]))
                .unwrap()
                .unwrap();
            let expected = [(smallest, 7), (17 * 1024, 2), (1025 * 1024, 3)];
            assert_eq!(pools, expected.map(|(chunk_bytes, chunks)| Pool { chunk_bytes, chunks }));
        }
    }

    #[test]
    fn the_mode_scales_the_default() {
        let half = 234_u64 << 20;
        for rules in [REFUSED, LEFT_OUT] {
            let pools =
                |modes: &[(&str, Value)]| rules.requested_pools(&config_with(None, modes)).unwrap();
            let default = rules.default_pools();
            assert_eq!((default.len(), bytes(&default) >> 20), (9, 468));
            assert_eq!(pools(&[]), None);
            let scaled = pools(&[(MODE, json!(half))]).unwrap();
            assert_eq!(scaled.len(), 9);
            assert!((half * 9 / 10..=half).contains(&bytes(&scaled)), "{scaled:?}");
            let twice = config_with(Some("1M:3"), &[(MODE, json!(half))]);
            assert_eq!(rules.requested_pools(&twice).unwrap_err().kind, ErrorKind::Invalid);
        }
    }

    #[test]
    fn too_few_bytes_are_refused_or_leave_pools_out() {
        let few = [(MODE, json!(1 << 20))];
        let none = [(MODE, json!(1 << 10))];
        for (rules, modes, kind) in [
            (REFUSED, &few[..], ErrorKind::Unsupported),
            (REFUSED, &none[..], ErrorKind::Unsupported),
            (LEFT_OUT, &none[..], ErrorKind::Invalid),
        ] {
            let error = rules.requested_pools(&config_with(None, modes)).unwrap_err();
            assert_eq!((error.kind, error.object.as_str()), (kind, "mode shm_pool_bytes"));
        }
        let left = LEFT_OUT.requested_pools(&config_with(None, &few)).unwrap().unwrap();
        assert!(left.len() < 9 && bytes(&left) <= 1 << 20, "{left:?}");
    }

    #[test]
    fn what_is_not_a_list_of_pools_is_refused() {
        let many = "1K:1 ".repeat(33);
        for text in
            ["", "1M", "1M:0", "0:4", "1G:4", "x:4", "1M:-1", "1M:4,2M:4", "4096M:1", "M:1", &many]
        {
            let error = REFUSED.requested_pools(&config_with(Some(text), &[])).unwrap_err();
            assert_eq!(
                (error.kind, error.object.as_str()),
                (ErrorKind::Invalid, "option roudi_pools"),
                "{text}"
            );
        }
    }
}
