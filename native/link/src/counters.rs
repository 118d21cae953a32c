//! Counts of events in each direction of a link; they are kept whether or not the log has room.

use serde::{Deserialize, Serialize};

use crate::frame::Verdict;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Frames that came to this direction: from the host (`up`) or for it (`down`).
    pub frames: u64,
    pub bytes: u64,
    pub lost: u64,
    pub queue_full: u64,
    /// Frames that exceeded the limit of their flow.
    pub policed: u64,
    pub blackholed: u64,
    pub no_carrier: u64,
    pub too_large: u64,
    pub given_up: u64,
    /// Multicast frames for a group that no host (`up`) or not this host (`down`) has joined.
    pub unwanted: u64,
    pub no_destination: u64,
    /// Frames that crossed the link.
    pub delivered: u64,
    pub delivered_bytes: u64,
    pub corrupted: u64,
    pub duplicated: u64,
}

impl Counters {
    pub fn end(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::LostUp | Verdict::LostDown => self.lost += 1,
            Verdict::QueueFullUp | Verdict::QueueFullDown => self.queue_full += 1,
            Verdict::PolicedUp | Verdict::PolicedDown => self.policed += 1,
            Verdict::Blackhole => self.blackholed += 1,
            Verdict::NoCarrier => self.no_carrier += 1,
            Verdict::TooLarge => self.too_large += 1,
            Verdict::GivenUp => self.given_up += 1,
            Verdict::MulticastUnwanted => self.unwanted += 1,
            Verdict::NoDestination => self.no_destination += 1,
            Verdict::Delivered | Verdict::Refused | Verdict::UnderWay => {}
        }
    }
}
