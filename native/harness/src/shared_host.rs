//! A host without namespaces of its own, as in an ordinary container: the trial's processes share
//! the machine's network, `/tmp` and `/dev/shm` with whoever else is there, and must meet none of
//! them.
//!
//! The orchestrator names such a host by a word that no other host has, draws its DDS domain, gives
//! it ports and a temporary directory (TMPDIR), and starts only workers whose
//! [`Middleware::shared_host`](crate::middleware::Middleware::shared_host) says that they keep to
//! these and to the loopback interface (`docs/formats/worker-protocol.md`).

/// The variables that name it and its first port.
pub const NAME: &str = "RMWBENCH_SHARED_HOST";
pub const FIRST_PORT: &str = "RMWBENCH_FIRST_PORT";

/// The host's own name, of letters, digits and dashes; None where the trial has namespaces of its
/// own.
pub fn name() -> Option<String> {
    named(NAME)
}

/// Where what needs a port takes it: `usual` in a host with a network of its own, else `offset`
/// behind the host's first one.
pub fn port(usual: u16, offset: u16) -> u16 {
    named(FIRST_PORT)
        .and_then(|text| text.parse::<u16>().ok())
        .map_or(usual, |first| first.saturating_add(offset))
}

fn named(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|text| !text.is_empty())
}
