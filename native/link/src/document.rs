//! The results at the end, in the terms of docs/formats/link.md.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::change::Done;
use crate::counters::Counters;
use crate::frame::Facts;
use crate::medium::MediumCounters;
use crate::quantiles::Quantiles;
use crate::totals::Periods;
use crate::watch::Wakes;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub opened_ns: i64,
    pub closed_ns: i64,
    pub links: BTreeMap<String, LinkCounters>,
    pub media: BTreeMap<String, MediumCounters>,
    pub classes: BTreeMap<String, ClassCounters>,
    pub lateness_ns: Quantiles,
    pub wakes: Wakes,
    pub devices: BTreeMap<String, Device>,
    pub changes: Vec<Done>,
    /// Present if the log had no room for every frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods: Option<Periods>,
    pub own: Own,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkCounters {
    pub up: Counters,
    pub down: Counters,
}

/// Frames counted as they entered the switch, each once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassCounters {
    pub frames: u64,
    pub bytes: u64,
    pub payload_bytes: u64,
    pub retransmitted_frames: u64,
    pub retransmitted_bytes: u64,
}

impl ClassCounters {
    pub fn add(&mut self, facts: &Facts, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
        self.payload_bytes += u64::from(facts.payload_bytes);
        if facts.retransmission {
            self.retransmitted_frames += 1;
            self.retransmitted_bytes += bytes as u64;
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Errors of writing, except those of an interface that is administratively down.
    pub write_errors: u64,
    pub refused_while_down: u64,
    pub read_errors: u64,
    pub largest_frame_bytes: u64,
    /// The last error, in the system's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    pub cpu_ns: i64,
    pub wall_ns: i64,
    pub rss_bytes: u64,
}
