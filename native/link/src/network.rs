//! The switch and its links in virtual time: frames come in at a time, everything that happens to them is an event at a time, and
//! what is due is handed out. No device and no clock in here, so a test can run hours in a moment, and a late wake-up of the
//! [`crate::engine`] changes when a frame is written but never what happens to it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use crate::change::{Change, Done, Specs, State, What};
use crate::classify::Classifier;
use crate::direction::{Direction, Way};
use crate::document::{ClassCounters, Device, LinkCounters};
use crate::effects::Fate;
use crate::frame::{Class, Frame, Verdict, NOWHERE};
use crate::headers::{self, ETHERNET_BYTES};
use crate::log::Log;
use crate::medium::{Medium, MediumCounters, OnAir};
use crate::multicast::{snooped, Memberships, Multicast};
use crate::priority::Rule;
use crate::quantiles::Histogram;
use crate::random::uniform;
use crate::spec::{LinkSpec, MediumSpec};
use crate::trace::NEVER;

/// What the network stands on: devices and a clock, or a test's idea of them.
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

/// What a network is made of.
pub struct Plan {
    pub seed: u64,
    pub ports: Vec<(String, [u8; 6])>,
    pub links: BTreeMap<String, LinkSpec>,
    pub media: BTreeMap<String, MediumSpec>,
    pub multicast: Multicast,
    pub priority: Vec<Rule>,
}

struct Port {
    name: String,
    mac: [u8; 6],
    blackhole: bool,
    no_carrier: bool,
    device: Device,
}

struct Event {
    at_ns: i64,
    order: u64,
    what: Happening,
}

enum Happening {
    /// A direction's own rate is through with its frame.
    Served(usize),
    /// A medium's transmission is over.
    Aired(usize),
    /// A frame reaches the end of a direction.
    Crossed(usize, Box<Frame>),
    Change(usize),
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
    pub done: Vec<Done>,
    pub log: Log,
    pub lateness: Histogram,
    classes: [ClassCounters; Class::NAMES.len()],
}

impl Network {
    pub fn new(plan: Plan, log: Log, begin_ns: i64) -> Network {
        let Plan { seed, ports, links, media, multicast, priority } = plan;
        let media_specs: Vec<(String, MediumSpec)> = media.into_iter().collect();
        let nothing = LinkSpec::default();
        let mut directions = Vec::new();
        for (name, _) in &ports {
            let link = links.get(name).unwrap_or(&nothing);
            directions.push(Direction::new(seed, name, Way::Up, &link.up, &media_specs, begin_ns));
            directions.push(Direction::new(seed, name, Way::Down, &link.down, &media_specs, begin_ns));
        }
        let port = |(name, mac)| Port { name, mac, blackhole: false, no_carrier: false, device: Device::default() };
        Network {
            ports: ports.into_iter().map(port).collect(),
            directions,
            media: media_specs.iter().map(|(name, spec)| Medium::new(seed, name, spec.clone())).collect(),
            media_specs,
            multicast,
            memberships: Memberships::default(),
            classifier: Classifier::new(priority),
            events: BinaryHeap::new(),
            order: 0,
            next_index: 0,
            changes: Vec::new(),
            done: Vec::new(),
            log,
            lateness: Histogram::default(),
            classes: Default::default(),
        }
    }

    /// When something happens next.
    pub fn next_ns(&self) -> Option<i64> {
        self.events.peek().map(|Reverse(event)| event.at_ns)
    }

    /// The number that the next frame gets.
    pub fn next_index(&self) -> u64 {
        self.next_index
    }

    /// A frame comes from a host. Times never fall from call to call.
    pub fn arrive(&mut self, port: usize, bytes: &[u8], at_ns: i64, outside: &mut dyn Outside) {
        self.advance(at_ns, outside);
        let headers = headers::parse(bytes);
        let facts = self.classifier.look(bytes, &headers);
        if facts.class == Class::Resolution && self.multicast == Multicast::Snoop {
            self.memberships.learn(port as u16, &headers);
        }
        let class = &mut self.classes[facts.class as usize];
        class.frames += 1;
        class.bytes += bytes.len() as u64;
        class.payload_bytes += u64::from(facts.payload_bytes);
        if facts.retransmission {
            class.retransmitted_frames += 1;
            class.retransmitted_bytes += bytes.len() as u64;
        }
        let device = &mut self.ports[port].device;
        device.largest_frame_bytes = device.largest_frame_bytes.max(bytes.len() as u64);
        let to = if facts.multicast { None } else { self.port_of(bytes) };
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
            fate: Fate::default(),
        };
        self.next_index += 1;
        self.enter(port * 2, Box::new(frame), at_ns, outside);
    }

    /// Lets everything happen that is due by now.
    pub fn advance(&mut self, now_ns: i64, outside: &mut dyn Outside) {
        while self.next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let Some(Reverse(Event { at_ns, what, .. })) = self.events.pop() else { return };
            match what {
                Happening::Served(direction) => self.served(direction, at_ns, outside),
                Happening::Aired(medium) => self.aired(medium, at_ns, outside),
                Happening::Crossed(direction, frame) => self.arrived(direction, frame, at_ns, outside),
                Happening::Change(index) => self.change(index, at_ns, outside),
            }
        }
    }

    /// Adds changes; all of them or none.
    pub fn schedule(&mut self, changes: Vec<Change>, now_ns: i64) -> Result<(), String> {
        let media: BTreeMap<String, MediumSpec> = self.media_specs.iter().cloned().collect();
        for Change { at_ns, link, change } in &changes {
            if *at_ns <= now_ns {
                return Err(format!("{link}: {at_ns} has passed, it is {now_ns}"));
            }
            if !self.ports.iter().any(|port| port.name == *link) {
                let known: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
                return Err(format!("there is no link {link}; there is: {}", known.join(", ")));
            }
            let What::Specs(Specs { up, down }) = change else { continue };
            for (way, spec) in [("up", up), ("down", down)] {
                if let Some(problem) = spec.as_ref().and_then(|spec| spec.problem(&media)) {
                    return Err(format!("{link}.{way}: {problem}"));
                }
            }
        }
        for change in changes {
            let at_ns = change.at_ns;
            self.changes.push(change);
            self.later(at_ns, Happening::Change(self.changes.len() - 1));
        }
        Ok(())
    }

    pub fn links(&self) -> BTreeMap<String, LinkCounters> {
        let counters = |index: usize| self.directions[index].counters.clone();
        self.ports
            .iter()
            .enumerate()
            .map(|(k, port)| (port.name.clone(), LinkCounters { up: counters(2 * k), down: counters(2 * k + 1) }))
            .collect()
    }

    pub fn media(&self) -> BTreeMap<String, MediumCounters> {
        self.media_specs.iter().zip(&self.media).map(|((name, _), medium)| (name.clone(), medium.counters.clone())).collect()
    }

    pub fn classes(&self) -> BTreeMap<String, ClassCounters> {
        Class::NAMES.iter().zip(&self.classes).map(|(name, class)| (name.to_string(), class.clone())).collect()
    }

    pub fn devices(&self) -> BTreeMap<String, Device> {
        self.ports.iter().map(|port| (port.name.clone(), port.device.clone())).collect()
    }

    /// The specs in force.
    pub fn specs(&self) -> BTreeMap<String, LinkSpec> {
        let spec = |index: usize| self.directions[index].spec.clone();
        self.ports.iter().enumerate().map(|(k, port)| (port.name.clone(), LinkSpec { up: spec(2 * k), down: spec(2 * k + 1) })).collect()
    }

    pub fn media_specs(&self) -> BTreeMap<String, MediumSpec> {
        self.media_specs.iter().cloned().collect()
    }

    pub fn read_failed(&mut self, port: usize, error: String) {
        let device = &mut self.ports[port].device;
        device.read_errors += 1;
        device.error = Some(error);
    }

    /// Writes a record for each frame that is still under way, and ends the log. Frames go on.
    pub fn close_log(&mut self) -> (usize, u64) {
        let Network { events, directions, media, log, .. } = self;
        let on_wire = events.iter().filter_map(|Reverse(event)| match &event.what {
            Happening::Crossed(_, frame) => Some(frame.as_ref()),
            _ => None,
        });
        let waiting = directions.iter().flat_map(|direction| direction.queue.iter().chain(direction.serving.as_deref()));
        let on_media = media.iter().flat_map(|medium| {
            let on_air: Vec<&Frame> = match &medium.on_air {
                Some(OnAir::Station { frame, .. }) => vec![frame],
                Some(OnAir::Group(copies)) => copies.iter().map(Box::as_ref).collect(),
                None => vec![],
            };
            on_air.into_iter().chain(medium.group.iter().flatten().map(Box::as_ref))
        });
        let mut under_way: Vec<&Frame> = on_wire.chain(waiting).chain(on_media).collect();
        under_way.sort_by_key(|frame| (frame.index, frame.to));
        under_way.into_iter().for_each(|frame| log.write(frame, Verdict::UnderWay, 0, 0));
        log.close()
    }

    fn later(&mut self, at_ns: i64, what: Happening) {
        self.events.push(Reverse(Event { at_ns, order: self.order, what }));
        self.order += 1;
    }

    fn port_of(&self, bytes: &[u8]) -> Option<usize> {
        let mac = bytes.get(..6)?;
        self.ports.iter().position(|port| port.mac == mac)
    }

    /// A frame that goes no further.
    fn end(&mut self, direction: usize, frame: &Frame, verdict: Verdict) {
        self.directions[direction].counters.end(verdict);
        self.log.write(frame, verdict, 0, 0);
    }

    /// What keeps every frame of this direction from going on, if anything.
    fn outage(&self, direction: usize) -> Option<Verdict> {
        let port = &self.ports[direction / 2];
        match (port.no_carrier, port.blackhole) {
            (true, _) => Some(Verdict::NoCarrier),
            (_, true) => Some(Verdict::Blackhole),
            _ => None,
        }
    }

    /// A frame comes to a direction; None where it ends here or is exempt from everything.
    fn admit(&mut self, index: usize, mut frame: Box<Frame>, at_ns: i64, outside: &mut dyn Outside) -> Option<Box<Frame>> {
        let outage = self.outage(index);
        let direction = &mut self.directions[index];
        direction.counters.frames += 1;
        direction.counters.bytes += frame.bytes.len() as u64;
        let too_large = direction.spec.mtu_bytes.is_some_and(|mtu| frame.bytes.len().saturating_sub(ETHERNET_BYTES) as u64 > mtu);
        if let Some(verdict) = outage.or(too_large.then_some(Verdict::TooLarge)) {
            self.end(index, &frame, verdict);
            return None;
        }
        if frame.facts.class == Class::Resolution && direction.spec.exempt_arp {
            self.arrived(index, frame, at_ns, outside);
            return None;
        }
        frame.fate = direction.effects.draw();
        Some(frame)
    }

    fn enter(&mut self, index: usize, frame: Box<Frame>, at_ns: i64, outside: &mut dyn Outside) {
        let Some(frame) = self.admit(index, frame, at_ns, outside) else { return };
        let direction = &mut self.directions[index];
        if direction.is_free() {
            return self.cross(index, frame, at_ns, outside);
        }
        let rate = match direction.medium {
            Some(medium) => Some(self.media[medium].spec.rate_bps),
            None => direction.replay.rate_bps(at_ns),
        };
        let (limits, verdict) = (direction.limits, direction.queue_full());
        match direction.queue.push(frame, &limits, rate) {
            Ok(()) => self.wake(index, at_ns),
            Err(frame) => self.end(index, &frame, verdict),
        }
    }

    /// Something may wait here: begin with it where nothing is under way.
    fn wake(&mut self, index: usize, at_ns: i64) {
        let direction = &mut self.directions[index];
        if let Some(medium) = direction.medium {
            return self.transmit(medium, at_ns);
        }
        if direction.serving.is_some() {
            return;
        }
        let Some(frame) = direction.queue.pop() else { return };
        let until_ns = direction.replay.finish_ns(at_ns, frame.bytes.len());
        direction.serving = Some(frame);
        if until_ns == NEVER {
            return;
        }
        self.later(until_ns, Happening::Served(index));
    }

    fn served(&mut self, index: usize, at_ns: i64, outside: &mut dyn Outside) {
        let direction = &mut self.directions[index];
        let Some(frame) = direction.serving.take() else { return };
        direction.queue.gone(&frame);
        self.wake(index, at_ns);
        match self.outage(index) {
            Some(verdict) => self.end(index, &frame, verdict),
            None => self.cross(index, frame, at_ns, outside),
        }
    }

    /// Begins a medium's next transmission, if it is idle and a station has something.
    fn transmit(&mut self, medium: usize, at_ns: i64) {
        if self.media[medium].on_air.is_some() {
            return;
        }
        let waiting = |direction: &Direction| direction.medium == Some(medium) && !direction.queue.is_empty();
        let stations: Vec<usize> = (0..self.directions.len()).filter(|index| waiting(&self.directions[*index])).collect();
        let air = &mut self.media[medium];
        let count = stations.len() + usize::from(!air.group.is_empty());
        if count == 0 {
            return;
        }
        let picked = air.pick(count);
        let (on_air, airtime_ns) = match stations.get(picked) {
            Some(&direction) => {
                let Some(mut frame) = self.directions[direction].queue.pop() else { return };
                frame.attempts = frame.attempts.saturating_add(1);
                frame.fate.tries += 1;
                let airtime_ns = air.airtime_ns(frame.bytes.len(), false);
                (OnAir::Station { direction, frame }, airtime_ns)
            }
            None => {
                let Some(mut copies) = air.group.pop_front() else { return };
                copies.iter_mut().for_each(|frame| frame.attempts = frame.attempts.saturating_add(1));
                let airtime_ns = air.airtime_ns(copies[0].bytes.len(), true);
                (OnAir::Group(copies), airtime_ns)
            }
        };
        air.counters.attempts += 1;
        air.counters.busy_ns += airtime_ns;
        air.on_air = Some(on_air);
        self.later(at_ns + airtime_ns, Happening::Aired(medium));
    }

    fn aired(&mut self, medium: usize, at_ns: i64, outside: &mut dyn Outside) {
        let MediumSpec { phy_loss, retries, .. } = self.media[medium].spec;
        match self.media[medium].on_air.take() {
            Some(OnAir::Station { direction: index, frame }) => {
                let outage = self.outage(index);
                let direction = &mut self.directions[index];
                let failed = uniform(&mut direction.effects.phy) < phy_loss;
                if outage.is_none() && failed && frame.fate.tries <= u16::from(retries) {
                    direction.queue.put_back(frame);
                    self.wake(index, at_ns);
                } else {
                    direction.queue.gone(&frame);
                    match outage {
                        Some(verdict) => self.end(index, &frame, verdict),
                        None if failed => {
                            self.media[medium].counters.given_up += 1;
                            self.end(index, &frame, Verdict::GivenUp);
                        }
                        None => self.cross(index, frame, at_ns, outside),
                    }
                }
            }
            Some(OnAir::Group(copies)) => {
                for frame in copies {
                    let index = usize::from(frame.to) * 2 + 1;
                    let failed = uniform(&mut self.directions[index].effects.phy) < phy_loss;
                    match self.outage(index).or(failed.then_some(Verdict::LostDown)) {
                        Some(verdict) => self.end(index, &frame, verdict),
                        None => self.cross(index, frame, at_ns, outside),
                    }
                }
            }
            None => {}
        }
        self.transmit(medium, at_ns);
    }

    /// A frame has been sent: what its fate is on the way.
    fn cross(&mut self, index: usize, mut frame: Box<Frame>, at_ns: i64, outside: &mut dyn Outside) {
        let direction = &mut self.directions[index];
        // The jitter's process goes on for lost frames too: more loss does not change the delays of the others.
        let jitter_ns = direction.effects.jitter.offset_ns(frame.fate.jitter, at_ns);
        let traced = direction.replay.loss(at_ns);
        if direction.effects.loss.lost(frame.fate.loss, at_ns, traced) {
            let verdict = direction.lost();
            return self.end(index, &frame, verdict);
        }
        let mut until_ns = at_ns + (direction.replay.delay_ns(at_ns) + jitter_ns).max(0);
        match &direction.spec.reorder {
            Some(reorder) if frame.fate.reorder => until_ns += reorder.by_ns,
            _ if direction.effects.jitter.overtakes() => {}
            _ => {
                until_ns = until_ns.max(direction.last_ns);
                direction.last_ns = until_ns;
            }
        }
        if let Some(place) = frame.fate.corrupt {
            flip(&mut frame, place);
            direction.counters.corrupted += 1;
        }
        let copy = frame.fate.duplicate.then(|| Box::new(Frame { duplicate: true, ..(*frame).clone() }));
        direction.counters.duplicated += u64::from(copy.is_some());
        for frame in std::iter::once(frame).chain(copy) {
            if until_ns <= at_ns {
                self.arrived(index, frame, at_ns, outside);
            } else {
                self.later(until_ns, Happening::Crossed(index, frame));
            }
        }
    }

    /// The end of a direction: the switch, or the host.
    fn arrived(&mut self, index: usize, frame: Box<Frame>, at_ns: i64, outside: &mut dyn Outside) {
        match self.directions[index].way {
            Way::Up => {
                let counters = &mut self.directions[index].counters;
                counters.delivered += 1;
                counters.delivered_bytes += frame.bytes.len() as u64;
                self.switch(index, frame, at_ns, outside);
            }
            Way::Down => self.deliver(index, &frame, at_ns, outside),
        }
    }

    fn switch(&mut self, up: usize, mut frame: Box<Frame>, at_ns: i64, outside: &mut dyn Outside) {
        if !frame.facts.multicast {
            return match self.port_of(&frame.bytes) {
                Some(port) if port != usize::from(frame.from) => {
                    frame.to = port as u16;
                    self.enter(port * 2 + 1, frame, at_ns, outside);
                }
                _ => self.end(up, &frame, Verdict::NoDestination),
            };
        }
        let headers = headers::parse(&frame.bytes);
        let broadcast = frame.bytes.get(..6) == Some(&[0xff; 6]);
        if self.multicast == Multicast::Drop && !broadcast && frame.facts.class != Class::Resolution {
            return self.end(up, &frame, Verdict::MulticastUnwanted);
        }
        let group = if self.multicast == Multicast::Snoop { snooped(&headers) } else { None };
        // What goes over a medium goes once for all of its hosts.
        let mut groups: Vec<Vec<Box<Frame>>> = self.media.iter().map(|_| Vec::new()).collect();
        for port in (0..self.ports.len()).filter(|port| *port != usize::from(frame.from)) {
            let index = port * 2 + 1;
            let copy = Box::new(Frame { to: port as u16, ..(*frame).clone() });
            if group.is_some_and(|group| !self.memberships.wants(port as u16, group)) {
                self.end(index, &copy, Verdict::MulticastUnwanted);
            } else if let Some(medium) = self.directions[index].medium {
                groups[medium].extend(self.admit(index, copy, at_ns, outside));
            } else {
                self.enter(index, copy, at_ns, outside);
            }
        }
        for (medium, copies) in groups.into_iter().enumerate().filter(|(_, copies)| !copies.is_empty()) {
            match self.media[medium].push_group(copies) {
                Ok(()) => self.transmit(medium, at_ns),
                Err(copies) => copies.iter().for_each(|frame| self.end(usize::from(frame.to) * 2 + 1, frame, Verdict::QueueFullDown)),
            }
        }
    }

    fn deliver(&mut self, index: usize, frame: &Frame, due_ns: i64, outside: &mut dyn Outside) {
        let port = index / 2;
        if self.ports[port].no_carrier {
            return self.end(index, frame, Verdict::NoCarrier);
        }
        let out_ns = outside.now_ns();
        match outside.write(port, &frame.bytes) {
            Ok(()) => {
                let counters = &mut self.directions[index].counters;
                counters.delivered += 1;
                counters.delivered_bytes += frame.bytes.len() as u64;
                self.lateness.add(out_ns - due_ns);
                self.log.write(frame, Verdict::Delivered, due_ns, out_ns);
            }
            Err(refused) => {
                let device = &mut self.ports[port].device;
                match refused {
                    Refused::Down => device.refused_while_down += 1,
                    Refused::Error(error) => {
                        device.write_errors += 1;
                        device.error = Some(error);
                    }
                }
                self.log.write(frame, Verdict::Refused, due_ns, 0);
            }
        }
    }

    fn change(&mut self, index: usize, at_ns: i64, outside: &mut dyn Outside) {
        let Change { link, change, .. } = self.changes[index].clone();
        let Some(port) = self.ports.iter().position(|port| port.name == link) else { return };
        let mut error = None;
        match &change {
            What::State(State::Blackhole) => self.ports[port].blackhole = true,
            What::State(State::CarrierLoss) => {
                self.ports[port].no_carrier = true;
                error = outside.carrier(port, false).err();
            }
            What::State(State::Up) => {
                self.ports[port].blackhole = false;
                if std::mem::take(&mut self.ports[port].no_carrier) {
                    error = outside.carrier(port, true).err();
                }
            }
            What::Specs(Specs { up, down }) => {
                for (direction, spec) in [(port * 2, up), (port * 2 + 1, down)] {
                    let Some(spec) = spec else { continue };
                    self.directions[direction].set(spec, &self.media_specs, at_ns);
                    self.restart(direction, at_ns);
                }
            }
        }
        self.done.push(Done { asked_ns: at_ns, done_ns: outside.now_ns(), link, change, error });
    }

    /// Under a new spec a frame that would never have been through begins again, and what waits may have another server.
    fn restart(&mut self, index: usize, at_ns: i64) {
        let under_way = self.events.iter().any(|Reverse(event)| matches!(event.what, Happening::Served(served) if served == index));
        let direction = &mut self.directions[index];
        if !under_way {
            if let Some(frame) = direction.serving.take() {
                direction.queue.put_back(frame);
            }
        }
        self.wake(index, at_ns);
    }
}

fn flip(frame: &mut Frame, place: f64) {
    let mut bytes = frame.bytes.to_vec();
    let bits = (bytes.len() - ETHERNET_BYTES.min(bytes.len())) * 8;
    if bits == 0 {
        return;
    }
    let bit = ((place * bits as f64) as usize).min(bits - 1);
    bytes[ETHERNET_BYTES + bit / 8] ^= 1 << (bit % 8);
    frame.bytes = Rc::from(bytes);
    frame.corrupted = true;
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
    /// At the same time: the one that was planned first.
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        (self.at_ns, self.order).cmp(&(other.at_ns, other.order))
    }
}
