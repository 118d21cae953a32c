//! A frame's path over one direction of a link: it is admitted, waits, crosses with its fate, and
//! arrives.

use std::rc::Rc;

use super::{Happening, Network, Outside, Refused};
use crate::direction::{Direction, Way};
use crate::frame::{Class, Frame, Verdict};
use crate::headers::ETHERNET_BYTES;
use crate::trace::NEVER;

impl Network {
    /// Ends the path of a frame that goes no further.
    pub(super) fn end(&mut self, direction: usize, frame: &Frame, verdict: Verdict) {
        let Direction { way, counters, .. } = &mut self.directions[direction];
        counters.end(verdict);
        let way = *way;
        self.record(frame, verdict, way, 0, 0);
    }

    /// Records the end of a frame.
    fn record(&mut self, frame: &Frame, verdict: Verdict, way: Way, due_ns: i64, out_ns: i64) {
        self.log.write(frame, verdict, way, due_ns, out_ns);
        self.totals.ended(frame, verdict, way);
    }

    /// Why no frame of this direction may continue; None if they may.
    pub(super) fn outage(&self, direction: usize) -> Option<Verdict> {
        let port = &self.ports[direction / 2];
        match (port.no_carrier, port.blackhole || port.roaming.is_some()) {
            (true, _) => Some(Verdict::NoCarrier),
            (_, true) => Some(Verdict::Blackhole),
            _ => None,
        }
    }

    /// Takes a frame into a direction; None if the frame ends here or is exempt from all effects.
    pub(super) fn admit(
        &mut self,
        index: usize,
        mut frame: Box<Frame>,
        at_ns: i64,
        outside: &mut dyn Outside,
    ) -> Option<Box<Frame>> {
        let outage = self.outage(index);
        let direction = &mut self.directions[index];
        let exempt = frame.facts.class == Class::Resolution && direction.spec.exempt_arp;
        if !exempt {
            // The draw comes before anything ends the frame, so that neither an outage nor a
            // policer shifts the draws.
            frame.fate = direction.effects.draw();
        }
        direction.counters.frames += 1;
        direction.counters.bytes += frame.bytes.len() as u64;
        let too_large = direction
            .spec
            .mtu_bytes
            .is_some_and(|mtu| frame.bytes.len().saturating_sub(ETHERNET_BYTES) as u64 > mtu);
        if let Some(verdict) = outage.or(too_large.then_some(Verdict::TooLarge)) {
            self.end(index, &frame, verdict);
            return None;
        }
        if exempt {
            self.totals.crossed(index, frame.bytes.len(), true, at_ns);
            self.arrived(index, frame, at_ns, outside);
            return None;
        }
        if direction.policer.exceeds(&frame.facts, frame.bytes.len(), at_ns) {
            let verdict = direction.policed();
            self.end(index, &frame, verdict);
            return None;
        }
        Some(frame)
    }

    pub(super) fn enter(
        &mut self,
        index: usize,
        frame: Box<Frame>,
        at_ns: i64,
        outside: &mut dyn Outside,
    ) {
        let Some(mut frame) = self.admit(index, frame, at_ns, outside) else { return };
        let direction = &mut self.directions[index];
        if direction.is_free() {
            return self.cross(index, frame, at_ns, outside);
        }
        let rate = match direction.medium {
            Some(medium) => Some(self.media[medium].spec.rate_bps),
            None => direction.replay.rate_bps(at_ns),
        };
        frame.queued_ns = at_ns;
        let (limits, verdict) = (direction.limits, direction.queue_full());
        match direction.queue.push(frame, &limits, rate) {
            Ok(()) => self.wake(index, at_ns),
            Err(frame) => self.end(index, &frame, verdict),
        }
    }

    /// Begins to send a waiting frame, if there is one and none is being sent.
    pub(super) fn wake(&mut self, index: usize, at_ns: i64) {
        let direction = &mut self.directions[index];
        if let Some(medium) = direction.medium {
            return self.transmit(medium, at_ns);
        }
        if direction.serving.is_some() || direction.airborne {
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

    pub(super) fn served(&mut self, index: usize, at_ns: i64, outside: &mut dyn Outside) {
        let direction = &mut self.directions[index];
        let Some(frame) = direction.serving.take() else { return };
        direction.queue.gone(&frame);
        self.wake(index, at_ns);
        match self.outage(index) {
            Some(verdict) => self.end(index, &frame, verdict),
            None => self.cross(index, frame, at_ns, outside),
        }
    }

    /// Handles a frame that has been sent: applies its fate on the wire.
    pub(super) fn cross(
        &mut self,
        index: usize,
        mut frame: Box<Frame>,
        at_ns: i64,
        outside: &mut dyn Outside,
    ) {
        let direction = &mut self.directions[index];
        // The jitter's process advances for lost frames, too: more loss does not change the delays
        // of the other frames.
        let jitter_ns = direction.effects.jitter.offset_ns(frame.fate.jitter, at_ns);
        let traced = direction.replay.loss(at_ns);
        let lost = direction.effects.loss.lost(frame.fate.loss, at_ns, traced);
        self.totals.crossed(index, frame.bytes.len(), !lost, at_ns);
        if lost {
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
        let copy =
            frame.fate.duplicate.then(|| Box::new(Frame { duplicate: true, ..(*frame).clone() }));
        direction.counters.duplicated += u64::from(copy.is_some());
        for frame in std::iter::once(frame).chain(copy) {
            if until_ns <= at_ns {
                self.arrived(index, frame, at_ns, outside);
            } else {
                self.later(until_ns, Happening::Crossed(index, frame));
            }
        }
    }

    /// Handles a frame that reached the end of a direction: the switch, or the host.
    pub(super) fn arrived(
        &mut self,
        index: usize,
        frame: Box<Frame>,
        at_ns: i64,
        outside: &mut dyn Outside,
    ) {
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

    pub(super) fn deliver(
        &mut self,
        index: usize,
        frame: &Frame,
        due_ns: i64,
        outside: &mut dyn Outside,
    ) {
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
                self.record(frame, Verdict::Delivered, Way::Down, due_ns, out_ns);
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
                self.record(frame, Verdict::Refused, Way::Down, due_ns, 0);
            }
        }
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
