//! The worker's `tuned` profile, for two participants of one process that must talk through shared
//! memory as two processes would.

use std::collections::BTreeMap;

use rmwbench_fastdds::FastDds;
use rmwbench_harness::middleware::{Middleware, Profile, SessionConfig};

/// The name of its participant, writer and reader profiles.
pub const NAME: &str = "rmwbench";
const THROUGH_TRANSPORTS: &str =
    "<library_settings><intraprocess_delivery>OFF</intraprocess_delivery></library_settings>";

pub fn session(domain_id: u32, trial_nonce: u64) -> SessionConfig {
    let tuned = FastDds::new()
        .describe()
        .profiles
        .into_iter()
        .find(|p| p.name == "tuned")
        .expect("the worker embeds it");
    let text = tuned.text.replacen("<profiles>", &format!("{THROUGH_TRANSPORTS}<profiles>"), 1);
    SessionConfig {
        profile: Profile { text, ..tuned },
        options: BTreeMap::new(),
        modes: Default::default(),
        domain_id,
        trial_nonce,
    }
}
