//! The switch and its links in virtual time: a frame comes in at a time, every event that concerns
//! it has a time, and due events are executed. There is no device and no clock in here, so a test
//! can simulate hours in a moment, and a late wake-up of the [`crate::engine`] changes when a frame
//! is written but never its fate.

mod accounts;
mod air;
mod changes;
mod path;
mod switch;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use crate::change::{Change, Done};
use crate::classify::Classifier;
use crate::direction::{Direction, Way};
use crate::document::{ClassCounters, Device};
use crate::effects::Fate;
use crate::frame::{Class, Frame, NOWHERE};
use crate::headers;
use crate::log::Log;
use crate::medium::Medium;
use crate::multicast::{Memberships, Multicast};
use crate::priority::Rule;
use crate::quantiles::Histogram;
use crate::spec::{LinkSpec, MediumSpec};
use crate::totals::Totals;
use crate::watch::Watch;

/// The outside of the network: devices and a clock, or their substitutes in a test.
pub trait Outside {
    fn now_ns(&self) -> i64;
    fn write(&mut self, port: usize, frame: &[u8]) -> Result<(), Refused>;
    fn carrier(&mut self, port: usize, on: bool) -> Result<(), String>;
}

#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// The interface is administratively down.
    Down,
    Error(String),
}

/// The parts of a network.
pub struct Plan {
    pub seed: u64,
    pub ports: Vec<PortPlan>,
    pub links: BTreeMap<String, LinkSpec>,
    pub media: BTreeMap<String, MediumSpec>,
    pub multicast: Multicast,
    pub priority: Vec<Rule>,
}

/// `network`: the network to which the port belongs.
pub struct PortPlan {
    pub name: String,
    pub mac: [u8; 6],
    pub network: Option<String>,
}

struct Port {
    name: String,
    mac: [u8; 6],
    network: Option<String>,
    blackhole: bool,
    no_carrier: bool,
    /// The change that is under way while the host is between two media.
    roaming: Option<usize>,
    device: Device,
}

struct Event {
    at_ns: i64,
    order: u64,
    what: Happening,
}

enum Happening {
    /// A direction with a rate of its own has sent its frame.
    Served(usize),
    /// A medium's transmission has ended.
    Aired(usize),
    /// A frame reaches the end of a direction.
    Crossed(usize, Box<Frame>),
    Change(usize),
    /// A roaming host is on its new medium.
    Joined(usize),
}

pub struct Network {
    ports: Vec<Port>,
    /// Two per port: up, down.
    directions: Vec<Direction>,
    media: Vec<Medium>,
    media_specs: Vec<(String, MediumSpec)>,
    multicast: Multicast,
    memberships: Memberships,
    classifier: Classifier,
    events: BinaryHeap<Reverse<Event>>,
    order: u64,
    next_index: u64,
    changes: Vec<Change>,
    /// The results of changes, in the order in which they were made; those with the same time are
    /// in the order in which they were requested.
    pub done: Vec<Done>,
    /// Change → its place in `done`.
    finished: BTreeMap<usize, usize>,
    pub log: Log,
    pub totals: Totals,
    pub lateness: Histogram,
    /// Measures how late the engine's thread wakes; it does not affect frames.
    pub watch: Watch,
    classes: [ClassCounters; Class::NAMES.len()],
}

impl Network {
    pub fn new(plan: Plan, log: Log, begin_ns: i64) -> Network {
        let Plan { seed, ports, links, media, multicast, priority } = plan;
        let media_specs: Vec<(String, MediumSpec)> = media.into_iter().collect();
        let nothing = LinkSpec::default();
        let mut directions = Vec::new();
        for PortPlan { name, .. } in &ports {
            let link = links.get(name).unwrap_or(&nothing);
            directions.push(Direction::new(seed, name, Way::Up, &link.up, &media_specs, begin_ns));
            directions.push(Direction::new(
                seed,
                name,
                Way::Down,
                &link.down,
                &media_specs,
                begin_ns,
            ));
        }
        let port = |PortPlan { name, mac, network }| Port {
            name,
            mac,
            network,
            blackhole: false,
            no_carrier: false,
            roaming: None,
            device: Device::default(),
        };
        Network {
            ports: ports.into_iter().map(port).collect(),
            directions,
            media: media_specs
                .iter()
                .map(|(name, spec)| Medium::new(seed, name, spec.clone()))
                .collect(),
            media_specs,
            multicast,
            memberships: Memberships::default(),
            classifier: Classifier::new(priority),
            events: BinaryHeap::new(),
            order: 0,
            next_index: 0,
            changes: Vec::new(),
            done: Vec::new(),
            finished: BTreeMap::new(),
            log,
            totals: Totals::default(),
            lateness: Histogram::default(),
            watch: Watch::default(),
            classes: Default::default(),
        }
    }

    /// The time of the next event.
    pub fn next_ns(&self) -> Option<i64> {
        self.events.peek().map(|Reverse(event)| event.at_ns)
    }

    /// The number of the next frame.
    pub fn next_index(&self) -> u64 {
        self.next_index
    }

    /// Takes a frame from a host. The times of calls must not decrease.
    pub fn arrive(&mut self, port: usize, bytes: &[u8], at_ns: i64, outside: &mut dyn Outside) {
        self.advance(at_ns, outside);
        let headers = headers::parse(bytes);
        let facts = self.classifier.look(bytes, &headers);
        if facts.class == Class::Resolution && self.multicast == Multicast::Snoop {
            self.memberships.learn(port as u16, &headers);
        }
        self.classes[facts.class as usize].add(&facts, bytes.len());
        let device = &mut self.ports[port].device;
        device.largest_frame_bytes = device.largest_frame_bytes.max(bytes.len() as u64);
        let to = if facts.multicast { None } else { self.port_of(port, bytes) };
        let frame = Frame {
            bytes: Rc::from(bytes),
            index: self.next_index,
            in_ns: at_ns,
            from: port as u16,
            to: to.map_or(NOWHERE, |to| to as u16),
            facts,
            duplicate: false,
            corrupted: false,
            attempts: 0,
            queued_ns: at_ns,
            fate: Fate::default(),
        };
        self.next_index += 1;
        self.totals.entered(&frame);
        self.enter(port * 2, Box::new(frame), at_ns, outside);
    }

    /// Executes all events that are due by now.
    pub fn advance(&mut self, now_ns: i64, outside: &mut dyn Outside) {
        while self.next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let Some(Reverse(Event { at_ns, what, .. })) = self.events.pop() else { return };
            match what {
                Happening::Served(direction) => self.served(direction, at_ns, outside),
                Happening::Aired(medium) => self.aired(medium, at_ns, outside),
                Happening::Crossed(direction, frame) => {
                    self.arrived(direction, frame, at_ns, outside)
                }
                Happening::Change(index) => self.change(index, at_ns, outside),
                Happening::Joined(index) => self.joined(index, at_ns, outside),
            }
        }
    }

    pub fn read_failed(&mut self, port: usize, error: String) {
        let device = &mut self.ports[port].device;
        device.read_errors += 1;
        device.error = Some(error);
    }

    fn later(&mut self, at_ns: i64, what: Happening) {
        self.events.push(Reverse(Event { at_ns, order: self.order, what }));
        self.order += 1;
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.order == other.order
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// Of two events at the same time, the one that was planned first comes first.
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        (self.at_ns, self.order).cmp(&(other.at_ns, other.order))
    }
}
