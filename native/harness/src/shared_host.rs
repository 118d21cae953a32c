//! A host without namespaces of its own, as in an ordinary container: the trial's processes share
//! the machine's network, `/tmp` and `/dev/shm` with other programs, and must not communicate with
//! any of them.
//!
//! The orchestrator gives such a host a unique name, a random DDS domain, ports and a temporary
//! directory (TMPDIR), and starts only workers whose
//! [`Middleware::shared_host`](crate::middleware::Middleware::shared_host) says that they keep to
//! these and to the loopback interface (`docs/formats/worker-protocol.md`).

/// The environment variables with the host's name and its first port.
pub const NAME: &str = "RMWBENCH_SHARED_HOST";
pub const FIRST_PORT: &str = "RMWBENCH_FIRST_PORT";

/// The host's own name, of letters, digits and dashes; None if the trial has namespaces of its own.
pub fn name() -> Option<String> {
    named(NAME)
}

/// The port to use: `usual` in a host with a network of its own, else the host's first port plus
/// `offset`.
pub fn port(usual: u16, offset: u16) -> u16 {
    named(FIRST_PORT)
        .and_then(|text| text.parse::<u16>().ok())
        .map_or(usual, |first| first.saturating_add(offset))
}

fn named(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|text| !text.is_empty())
}
