//! The network's reports: counters, the specs in force, and the end of the log.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Happening, Network};
use crate::direction::Way;
use crate::document::{ClassCounters, Device, LinkCounters};
use crate::frame::{Class, Frame, Verdict};
use crate::medium::{MediumCounters, OnAir};
use crate::spec::{LinkSpec, MediumSpec};
use crate::totals::Periods;

impl Network {
    pub fn links(&self) -> BTreeMap<String, LinkCounters> {
        let counters = |index: usize| self.directions[index].counters.clone();
        self.ports
            .iter()
            .enumerate()
            .map(|(k, port)| {
                (port.name.clone(), LinkCounters { up: counters(2 * k), down: counters(2 * k + 1) })
            })
            .collect()
    }

    pub fn media(&self) -> BTreeMap<String, MediumCounters> {
        self.media_specs
            .iter()
            .zip(&self.media)
            .map(|((name, _), medium)| (name.clone(), medium.counters.clone()))
            .collect()
    }

    pub fn classes(&self) -> BTreeMap<String, ClassCounters> {
        Class::NAMES
            .iter()
            .zip(&self.classes)
            .map(|(name, class)| (name.to_string(), class.clone()))
            .collect()
    }

    pub fn periods(&self) -> Periods {
        let names: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
        self.totals.periods(&names)
    }

    pub fn devices(&self) -> BTreeMap<String, Device> {
        self.ports.iter().map(|port| (port.name.clone(), port.device.clone())).collect()
    }

    /// The specs in force.
    pub fn specs(&self) -> BTreeMap<String, LinkSpec> {
        let spec = |index: usize| self.directions[index].spec.clone();
        self.ports
            .iter()
            .enumerate()
            .map(|(k, port)| {
                (port.name.clone(), LinkSpec { up: spec(2 * k), down: spec(2 * k + 1) })
            })
            .collect()
    }

    pub fn media_specs(&self) -> BTreeMap<String, MediumSpec> {
        self.media_specs.iter().cloned().collect()
    }

    /// Writes a record for each frame that is still under way, and ends the log. Frames still move
    /// afterwards.
    pub fn close_log(&mut self) -> (usize, u64) {
        let Network { events, directions, media, log, totals, .. } = self;
        let of = |index: usize| directions[index].way;
        let on_wire = events.iter().filter_map(|Reverse(event)| match &event.what {
            Happening::Crossed(index, frame) => Some((of(*index), frame.as_ref())),
            _ => None,
        });
        let waiting = directions.iter().flat_map(|direction| {
            let here = direction.queue.iter().chain(direction.serving.as_deref());
            here.map(|frame| (direction.way, frame))
        });
        let on_media = media.iter().flat_map(|medium| {
            let on_air: Vec<(Way, &Frame)> = match &medium.on_air {
                Some(OnAir::Station { direction, frame }) => vec![(of(*direction), frame)],
                Some(OnAir::Group(copies)) => {
                    copies.iter().map(|frame| (Way::Down, frame.as_ref())).collect()
                }
                None => vec![],
            };
            on_air.into_iter().chain(medium.to_groups().map(|frame| (Way::Down, frame)))
        });
        let mut under_way: Vec<(Way, &Frame)> = on_wire.chain(waiting).chain(on_media).collect();
        under_way.sort_by_key(|(_, frame)| (frame.index, frame.to));
        for (way, frame) in under_way {
            log.write(frame, Verdict::UnderWay, way, 0, 0);
            totals.ended(frame, Verdict::UnderWay, way);
        }
        log.close()
    }
}
