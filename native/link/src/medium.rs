//! A shared medium as a model of airtime: one transmission at a time, the next station drawn at
//! random among those that have a frame to send, a fixed overhead per attempt. The stations are the
//! hosts and the access point. The access point contends once for all of its frames: it has a queue
//! per host, drawn at random, and one for its multicast, since one transmission serves every host
//! on the medium.
//!
//! As in 802.11 with an access point, only multicast from the access point is sent once, at the
//! basic rate, and not acknowledged: a station's own multicast goes to the access point first, like
//! any unicast frame.

use std::collections::VecDeque;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::frame::Frame;
use crate::queue::CLASSES;
use crate::random::{stream, Stream};
use crate::spec::MediumSpec;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediumCounters {
    pub busy_ns: i64,
    pub attempts: u64,
    pub given_up: u64,
}

/// The present transmission.
pub enum OnAir {
    Station {
        direction: usize,
        frame: Box<Frame>,
    },
    /// A multicast transmission: one copy per host, with that host's fate.
    Group(Vec<Box<Frame>>),
}

pub struct Medium {
    pub spec: MediumSpec,
    pub on_air: Option<OnAir>,
    #[allow(clippy::vec_box)] // each goes on by itself, as it came
    group: [VecDeque<Vec<Box<Frame>>>; CLASSES],
    pub counters: MediumCounters,
    picks: Stream,
}

impl Medium {
    pub fn new(seed: u64, name: &str, spec: MediumSpec) -> Medium {
        Medium {
            spec,
            on_air: None,
            group: Default::default(),
            counters: MediumCounters::default(),
            picks: stream(seed, name, "pick"),
        }
    }

    /// Draws one of `count` stations that have a frame to send.
    pub fn pick(&mut self, count: usize) -> usize {
        if count == 1 {
            0
        } else {
            self.picks.random_range(0..count)
        }
    }

    /// The airtime of one attempt.
    pub fn airtime_ns(&self, frame_bytes: usize, to_group: bool) -> i64 {
        let rate = if to_group {
            self.spec.basic_rate_bps.unwrap_or(self.spec.rate_bps)
        } else {
            self.spec.rate_bps
        };
        self.spec.overhead_ns + (frame_bytes as f64 * 8e9 / rate as f64).round() as i64
    }

    /// Queues a multicast frame, or returns it if the access point's queue for its class is full.
    pub fn push_group(&mut self, copies: Vec<Box<Frame>>) -> Result<(), Vec<Box<Frame>>> {
        let class = copies.first().map_or(0, |frame| usize::from(frame.facts.priority));
        let waiting = &mut self.group[class];
        if waiting.len() as u64 >= self.spec.queue_frames {
            return Err(copies);
        }
        waiting.push_back(copies);
        Ok(())
    }

    /// The next multicast frame.
    pub fn pop_group(&mut self) -> Option<Vec<Box<Frame>>> {
        self.group.iter_mut().find_map(VecDeque::pop_front)
    }

    pub fn has_group(&self) -> bool {
        self.group.iter().any(|waiting| !waiting.is_empty())
    }

    /// The waiting multicast frames, one copy per host.
    pub fn to_groups(&self) -> impl Iterator<Item = &Frame> {
        self.group.iter().flatten().flatten().map(Box::as_ref)
    }
}
