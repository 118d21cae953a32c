//! Transmissions on a shared medium: which station sends next, and the result of an attempt.

use super::{Happening, Network, Outside};
use crate::direction::Direction;
use crate::frame::{Frame, Verdict};
use crate::medium::OnAir;
use crate::queue::Queue;
use crate::random::uniform;
use crate::spec::MediumSpec;

impl Network {
    /// Begins a medium's next transmission, if the medium is idle and a station has a frame.
    pub(super) fn transmit(&mut self, medium: usize, at_ns: i64) {
        if self.media[medium].on_air.is_some() {
            return;
        }
        let ready = |direction: &Direction| {
            !direction.airborne && direction.serving.is_none() && !direction.queue.is_empty()
        };
        let waiting = |index: &usize| {
            self.directions[*index].medium == Some(medium) && ready(&self.directions[*index])
        };
        // Odd directions lead to a host: they are queues of the access point, which is one station
        // together with its queue for groups.
        let (hosts, queues): (Vec<usize>, Vec<usize>) =
            (0..self.directions.len()).filter(waiting).partition(|index| index % 2 == 0);
        let air = &mut self.media[medium];
        let of_access_point = queues.len() + usize::from(air.has_group());
        let count = hosts.len() + usize::from(of_access_point > 0);
        if count == 0 {
            return;
        }
        let station = hosts.get(air.pick(count)).copied();
        let picked = station.or_else(|| queues.get(air.pick(of_access_point)).copied());
        let (on_air, airtime_ns) = match picked {
            Some(direction) => {
                let Some(mut frame) = self.next_to_air(direction, at_ns) else { return };
                self.directions[direction].airborne = true;
                frame.attempts = frame.attempts.saturating_add(1);
                frame.fate.tries += 1;
                let airtime_ns = self.media[medium].airtime_ns(frame.bytes.len(), false);
                (OnAir::Station { direction, frame }, airtime_ns)
            }
            None => {
                let Some(mut copies) = self.media[medium].pop_group() else { return };
                copies
                    .iter_mut()
                    .for_each(|frame| frame.attempts = frame.attempts.saturating_add(1));
                let airtime_ns = self.media[medium].airtime_ns(copies[0].bytes.len(), true);
                (OnAir::Group(copies), airtime_ns)
            }
        };
        let air = &mut self.media[medium];
        air.counters.attempts += 1;
        air.counters.busy_ns += airtime_ns;
        air.on_air = Some(on_air);
        self.later(at_ns + airtime_ns, Happening::Aired(medium));
    }

    /// The next frame that CoDel does not drop; CoDel never drops the last frame of a class, nor
    /// one that is repeated.
    fn next_to_air(&mut self, index: usize, at_ns: i64) -> Option<Box<Frame>> {
        loop {
            let direction = &mut self.directions[index];
            let frame = direction.queue.pop()?;
            let class = Queue::class_of(&frame);
            let last = !direction.queue.waits(class);
            let dropped = frame.fate.tries == 0
                && direction
                    .codel
                    .as_mut()
                    .is_some_and(|codel| codel[class].drops(at_ns - frame.queued_ns, last, at_ns));
            if !dropped {
                return Some(frame);
            }
            direction.queue.gone(&frame);
            let verdict = direction.queue_full();
            self.end(index, &frame, verdict);
        }
    }

    pub(super) fn aired(&mut self, medium: usize, at_ns: i64, outside: &mut dyn Outside) {
        let MediumSpec { phy_loss, retries, .. } = self.media[medium].spec;
        match self.media[medium].on_air.take() {
            Some(OnAir::Station { direction: index, frame }) => {
                let outage = self.outage(index);
                let direction = &mut self.directions[index];
                direction.airborne = false;
                let failed = uniform(&mut direction.effects.phy) < phy_loss;
                if outage.is_none() && failed && frame.fate.tries <= u16::from(retries) {
                    direction.queue.put_back(frame);
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
                // The direction's next frame may go elsewhere: a host can leave a medium while its
                // frame is on the air.
                self.wake(index, at_ns);
            }
            Some(OnAir::Group(copies)) => {
                for frame in copies {
                    let index = usize::from(frame.to) * 2 + 1;
                    let failed = uniform(&mut self.directions[index].effects.phy) < phy_loss;
                    let gone = (self.directions[index].medium != Some(medium))
                        .then_some(Verdict::Blackhole);
                    match self.outage(index).or(gone).or(failed.then_some(Verdict::LostDown)) {
                        Some(verdict) => self.end(index, &frame, verdict),
                        None => self.cross(index, frame, at_ns, outside),
                    }
                }
            }
            None => {}
        }
        self.transmit(medium, at_ns);
    }
}
