//! Changes at a time: outages, their end, and other specs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Happening, Network, Outside};
use crate::change::{Change, Done, Specs, State, What};
use crate::spec::MediumSpec;

impl Network {
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
    pub(super) fn restart(&mut self, index: usize, at_ns: i64) {
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
