//! Changes at a set time: outages, their end, other specs, and roaming from one medium to another.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Happening, Network, Outside};
use crate::change::{Change, Done, Roam, Specs, State, What};
use crate::frame::Verdict;
use crate::spec::{duration, no_medium, MediumSpec};

impl Network {
    /// Adds all of the changes, or none of them if there is an error.
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
            match change {
                What::State(_) => {}
                What::Roam(Roam { roam, gap_ns }) => {
                    if let Some(problem) =
                        no_medium(roam, &media).or_else(|| duration("gap_ns", *gap_ns, 0))
                    {
                        return Err(format!("{link}: roam: {problem}"));
                    }
                }
                What::Specs(Specs { up, down }) => {
                    for (way, spec) in [("up", up), ("down", down)] {
                        if let Some(problem) = spec.as_ref().and_then(|spec| spec.problem(&media)) {
                            return Err(format!("{link}.{way}: {problem}"));
                        }
                    }
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

    pub(super) fn change(&mut self, index: usize, at_ns: i64, outside: &mut dyn Outside) {
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
            What::State(State::Restart) => {
                for direction in [port * 2, port * 2 + 1] {
                    self.directions[direction].restart(at_ns);
                    self.restart(direction, at_ns);
                }
            }
            What::Roam(Roam { gap_ns, .. }) => error = self.roam(port, index, at_ns + gap_ns).err(),
            What::Specs(Specs { up, down }) => {
                for (direction, spec) in [(port * 2, up), (port * 2 + 1, down)] {
                    let Some(spec) = spec else { continue };
                    self.directions[direction].set(spec, &self.media_specs, at_ns);
                    self.restart(direction, at_ns);
                }
            }
        }
        self.finished.insert(index, self.done.len());
        self.done.push(Done {
            asked_ns: at_ns,
            done_ns: outside.now_ns(),
            link,
            change,
            joined_ns: None,
            error,
        });
    }

    /// The host leaves its medium: frames that wait in either direction stay behind. If there are
    /// several gaps at one time, the last one counts.
    fn roam(&mut self, port: usize, change: usize, until_ns: i64) -> Result<(), String> {
        let directions = [port * 2, port * 2 + 1];
        if directions.iter().all(|index| self.directions[*index].medium.is_none()) {
            return Err("it is on no medium, so it cannot leave one".into());
        }
        for index in directions {
            while let Some(frame) = self.directions[index].queue.pop() {
                self.directions[index].queue.gone(&frame);
                self.end(index, &frame, Verdict::Blackhole);
            }
        }
        self.ports[port].roaming = Some(change);
        self.later(until_ns, Happening::Joined(change));
        Ok(())
    }

    /// The host's directions that were on a medium are now on the new one.
    pub(super) fn joined(&mut self, change: usize, at_ns: i64, outside: &mut dyn Outside) {
        let Some(port) = self.ports.iter().position(|port| port.roaming == Some(change)) else {
            return;
        };
        let What::Roam(Roam { roam, .. }) = &self.changes[change].change else { return };
        let Some(medium) = self.media_specs.iter().position(|(name, _)| name == roam) else {
            return;
        };
        self.ports[port].roaming = None;
        for index in [port * 2, port * 2 + 1] {
            if self.directions[index].medium.is_some() {
                self.directions[index].join(medium, &self.media_specs);
                self.wake(index, at_ns);
            }
        }
        if let Some(done) = self.finished.get(&change) {
            self.done[*done].joined_ns = Some(outside.now_ns());
        }
    }

    /// Starts a frame again that would never have crossed under the old spec; waiting frames may be
    /// sent by another rate or medium now.
    pub(super) fn restart(&mut self, index: usize, at_ns: i64) {
        let under_way = self.events.iter().any(
            |Reverse(event)| matches!(event.what, Happening::Served(served) if served == index),
        );
        let direction = &mut self.directions[index];
        if !under_way {
            if let Some(frame) = direction.serving.take() {
                direction.queue.put_back(frame);
            }
        }
        self.wake(index, at_ns);
    }
}
