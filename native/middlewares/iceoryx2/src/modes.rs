//! The portable modes: those that iceoryx2 supports, and why it does not support the others.
//!
//! Its pools are one data segment for each publisher, with chunks of one size; the mode
//! `shm_pool_bytes` sets the number of chunks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{modes, Error, SessionConfig};

/// The bytes in a chunk besides the payload: iceoryx2's header and the alignment.
const HEADER_BYTES: u64 = 64;

const SHM_ONLY: &str = "iceoryx2 moves messages through shared memory alone";
const SAME_MEMORY: &str = "intra_process: between nodes of one process iceoryx2 uses the same shared memory as between processes; \
                           its process-local services (local::Service) are another kind, which this worker does not make";
const NO_BATCHING: &str =
    "true: iceoryx2 hands over every message by itself; there is nothing to pack";
const NO_SECURITY: &str =
    "true: iceoryx2 0.10 has no authentication and no encryption, only the permissions of files";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    pool_bytes: Option<u64>,
}

/// The modes for the description.
pub fn described() -> BTreeMap<String, String> {
    modes(&[
        ("transport", "shm"),
        ("batching", "false"),
        ("congestion", "no: reliability and history decide: reliable waits for room, best effort drops"),
        ("shm_pool_bytes", "N"),
        ("discovery", "no: services are files in directories that the processes of one host share; nothing is announced"),
        ("threads", "no: iceoryx2 has no threads of its own"),
        ("executor", "no: executors are rclcpp's; here `wait` says how a subscription learns of data"),
        ("security", "false"),
        ("compression", "no: nothing is sent, readers map the message"),
    ])
}

impl Modes {
    pub fn from_config(config: &SessionConfig) -> Result<Modes, Error> {
        let unsupported =
            |mode: &str, why: &str| Err(Error::unsupported(format!("mode {mode}"), why));
        match config.mode::<String>("transport")?.as_deref() {
            None | Some("shm") => (),
            Some("intra_process") => return unsupported("transport", SAME_MEMORY),
            Some(other) => return unsupported("transport", &format!("{other}: {SHM_ONLY}")),
        }
        if config.mode("batching")? == Some(true) {
            return unsupported("batching", NO_BATCHING);
        }
        if config.mode("security")? == Some(true) {
            return unsupported("security", NO_SECURITY);
        }
        Ok(Modes { pool_bytes: config.mode("shm_pool_bytes")? })
    }

    /// The pool of a publisher of such messages. Errors: it holds no message.
    pub fn pool(&self, payload_bytes: u32, object: &str) -> Result<Option<Pool>, Error> {
        let Some(bytes) = self.pool_bytes else { return Ok(None) };
        let chunk_bytes = u64::from(payload_bytes.max(1)) + HEADER_BYTES;
        match bytes / chunk_bytes {
            0 => {
                let message = format!("{bytes}: {object} needs chunks of {chunk_bytes} bytes");
                Err(Error::unsupported("mode shm_pool_bytes", message))
            }
            chunks => Ok(Some(Pool {
                chunks: usize::try_from(chunks).unwrap_or(usize::MAX),
                chunk_bytes,
                needed: Arc::default(),
            })),
        }
    }
}

/// A publisher's data segment as the mode `shm_pool_bytes` sets it.
pub struct Pool {
    chunks: usize,
    chunk_bytes: u64,
    /// The number of chunks that iceoryx2 reserves by default, so that no loan ever fails; known
    /// after the publisher was made.
    needed: Arc<AtomicUsize>,
}

impl Pool {
    /// For iceoryx2: maps the number of chunks that it needs to the number that it gets, which is
    /// never larger.
    pub fn preallocation(&self) -> impl Fn(usize) -> usize + 'static {
        let (chunks, needed) = (self.chunks, self.needed.clone());
        move |most| {
            needed.store(most, Ordering::Relaxed);
            chunks.min(most)
        }
    }

    /// The note about the resulting pool.
    pub fn note(&self) -> String {
        let needed = self.needed.load(Ordering::Relaxed);
        let chunks = self.chunks.min(needed);
        let bytes = chunks as u64 * self.chunk_bytes;
        if chunks < needed {
            format!("pool: {chunks} chunks, {bytes} bytes; with fewer than {needed} a publish call can fail while readers hold messages")
        } else {
            format!("pool: {chunks} chunks, {bytes} bytes; iceoryx2 takes no more than it can ever need")
        }
    }
}

#[cfg(test)]
mod tests {
    use rmwbench_conformance::pair;
    use rmwbench_harness::middleware::ErrorKind;
    use serde_json::{json, Value};

    use super::*;

    fn modes_with(mode: &str, level: Value) -> Result<Modes, Error> {
        Modes::from_config(&pair::session_with_modes(&pair::profile("toml", ""), &[(mode, level)]))
    }

    #[test]
    fn what_iceoryx2_has_not_is_unsupported_with_the_reason() {
        for (mode, level, words) in [
            ("transport", json!("udp"), "udp: iceoryx2 moves messages through shared memory alone"),
            ("transport", json!("intra_process"), "the same shared memory"),
            ("batching", json!(true), "by itself"),
            ("security", json!(true), "no authentication"),
        ] {
            let error = modes_with(mode, level).unwrap_err();
            assert_eq!(
                (error.kind, error.object),
                (ErrorKind::Unsupported, format!("mode {mode}"))
            );
            assert!(error.message.contains(words), "{}", error.message);
        }
        for (mode, level) in
            [("transport", json!("shm")), ("batching", json!(false)), ("security", json!(false))]
        {
            assert!(modes_with(mode, level).is_ok(), "{mode}");
        }
        assert!(described().values().all(|answer| !answer.contains("not mapped")));
    }

    #[test]
    fn a_pool_has_the_chunks_that_fit_and_never_more_than_needed() {
        let modes = modes_with("shm_pool_bytes", json!(100_000)).unwrap();
        assert_eq!(modes.pool(200_000, "endpoint 1").err().unwrap().kind, ErrorKind::Unsupported);
        let pool = modes.pool(1_000, "endpoint 1").unwrap().unwrap();
        assert_eq!((pool.preallocation()(500), pool.preallocation()(10)), (93, 10));
        assert!(
            pool.note().contains("10 chunks, 10640 bytes; iceoryx2 takes no more"),
            "{}",
            pool.note()
        );
        pool.preallocation()(500);
        assert!(
            pool.note().contains("93 chunks") && pool.note().contains("fewer than 500"),
            "{}",
            pool.note()
        );
        assert!(Modes::default().pool(1, "endpoint 1").unwrap().is_none());
    }
}
