//! The traffic of the links in each period of a trial: counts by link, direction, class and
//! verdict. They are complete even if the log has no room for every frame, as in a flood.
//!
//! A frame belongs to the period in which it entered the network; for the bytes that a link
//! carried, to the period in which it left the link. The totals are kept for every trial, since
//! nobody knows beforehand which one floods; there are few kinds of frames, so they are small.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::direction::Way;
use crate::document::ClassCounters;
use crate::frame::{Class, Frame, Verdict, NOWHERE};

const WAYS: [&str; 2] = ["up", "down"];

#[derive(Default)]
pub struct Totals {
    /// Ascending; a period begins at each edge, and the first before all of them.
    edges_ns: Vec<i64>,
    entered: BTreeMap<(usize, u16, u8), ClassCounters>,
    ended: BTreeMap<Ending, u64>,
    /// (period, direction) → the bytes that took time of the link, and those that it let through.
    crossed: BTreeMap<(usize, usize), (u64, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    period: usize,
    port: u16,
    way: u8,
    class: u8,
    verdict: u8,
    to_all: bool,
}

/// The totals in the document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Periods {
    pub edges_ns: Vec<i64>,
    pub entered: Vec<Entered>,
    pub ended: Vec<Ended>,
    pub crossed: Vec<Crossed>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entered {
    pub period: usize,
    pub link: String,
    pub class: String,
    #[serde(flatten)]
    pub counters: ClassCounters,
}

/// `to_all`: a multicast frame that went no further than its sender's link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    pub period: usize,
    pub link: String,
    pub way: String,
    pub class: String,
    pub verdict: String,
    pub to_all: bool,
    pub frames: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crossed {
    pub period: usize,
    pub link: String,
    pub way: String,
    /// The bytes that took time of the link, including those of lost frames.
    pub sent_bytes: u64,
    pub carried_bytes: u64,
}

impl Totals {
    /// Sets when periods begin; counts from before this call are all in the first.
    pub fn set_edges(&mut self, edges_ns: Vec<i64>) {
        self.edges_ns = edges_ns;
    }

    fn period(&self, at_ns: i64) -> usize {
        self.edges_ns.partition_point(|edge_ns| *edge_ns <= at_ns)
    }

    /// Counts a frame from its host, once for all of its destinations.
    pub fn entered(&mut self, frame: &Frame) {
        let key = (self.period(frame.in_ns), frame.from, frame.facts.class as u8);
        self.entered.entry(key).or_default().add(&frame.facts, frame.bytes.len());
    }

    pub fn ended(&mut self, frame: &Frame, verdict: Verdict, way: Way) {
        let ending = Ending {
            period: self.period(frame.in_ns),
            port: if way == Way::Up { frame.from } else { frame.to },
            way: way as u8,
            class: frame.facts.class as u8,
            verdict: verdict as u8,
            to_all: frame.to == NOWHERE && frame.facts.multicast,
        };
        *self.ended.entry(ending).or_default() += 1;
    }

    /// Counts a frame that left a direction at that time, or was lost on it; a copy that the link
    /// made takes no time of the link.
    pub fn crossed(&mut self, direction: usize, bytes: usize, carried: bool, at_ns: i64) {
        let period = self.period(at_ns);
        let (sent, through) = self.crossed.entry((period, direction)).or_default();
        *sent += bytes as u64;
        *through += if carried { bytes as u64 } else { 0 };
    }

    /// `names`: the names of the ports.
    pub fn periods(&self, names: &[&str]) -> Periods {
        let name = |port: usize| names[port].to_string();
        let class = |class: u8| Class::NAMES[usize::from(class)].to_string();
        let entered = self.entered.iter().map(|((period, port, of), counters)| Entered {
            period: *period,
            link: name(usize::from(*port)),
            class: class(*of),
            counters: counters.clone(),
        });
        let ended = self.ended.iter().map(|(ending, frames)| Ended {
            period: ending.period,
            link: name(usize::from(ending.port)),
            way: WAYS[usize::from(ending.way)].into(),
            class: class(ending.class),
            verdict: Verdict::NAMES[usize::from(ending.verdict)].into(),
            to_all: ending.to_all,
            frames: *frames,
        });
        let crossed = self.crossed.iter().map(|((period, direction), (sent, carried))| Crossed {
            period: *period,
            link: name(direction / 2),
            way: WAYS[direction % 2].into(),
            sent_bytes: *sent,
            carried_bytes: *carried,
        });
        Periods {
            edges_ns: self.edges_ns.clone(),
            entered: entered.collect(),
            ended: ended.collect(),
            crossed: crossed.collect(),
        }
    }
}
