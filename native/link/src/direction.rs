//! One direction of a host's link: its spec, its queue, the frames on the wire, and its counters.

use crate::codel::Codel;
use crate::counters::Counters;
use crate::effects::Effects;
use crate::frame::{Frame, Verdict};
use crate::policer::Policer;
use crate::queue::{Limits, Queue, CLASSES};
use crate::spec::{MediumSpec, Spec, DEFAULT_QUEUE_FRAMES};
use crate::trace::Replay;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}

pub struct Direction {
    pub way: Way,
    pub spec: Spec,
    pub queue: Queue,
    pub limits: Limits,
    /// CoDel for each class of the queue, if the medium has it.
    pub codel: Option<[Codel; CLASSES]>,
    pub policer: Policer,
    pub replay: Replay,
    pub effects: Effects,
    /// The frame that is being sent, if the rate is the link's own and not a medium's.
    pub serving: Option<Box<Frame>>,
    pub medium: Option<usize>,
    /// Whether a frame of this direction is on the air: no other is sent before its transmission
    /// ends, even if the host is on another medium by then.
    pub airborne: bool,
    /// When the last frame reaches the end: the next one does not overtake it.
    pub last_ns: i64,
    pub counters: Counters,
}

impl Direction {
    pub fn new(
        seed: u64,
        name: &str,
        way: Way,
        spec: &Spec,
        media: &[(String, MediumSpec)],
        begin_ns: i64,
    ) -> Direction {
        let place = format!("{name}.{}", if way == Way::Up { "up" } else { "down" });
        let mut direction = Direction {
            way,
            spec: Spec::default(),
            queue: Queue::default(),
            limits: Limits::of(spec, DEFAULT_QUEUE_FRAMES),
            codel: None,
            policer: Policer::default(),
            replay: Replay::new(spec, begin_ns),
            effects: Effects::new(seed, &place, spec, begin_ns),
            serving: None,
            medium: None,
            airborne: false,
            last_ns: begin_ns,
            counters: Counters::default(),
        };
        direction.set(spec, media, begin_ns);
        direction
    }

    /// Sets another spec from now on. Waiting frames stay; frames on the wire continue under the
    /// old spec.
    pub fn set(&mut self, spec: &Spec, media: &[(String, MediumSpec)], now_ns: i64) {
        self.spec = spec.clone();
        let medium = spec
            .medium
            .as_ref()
            .and_then(|medium_name| media.iter().position(|(name, _)| name == medium_name));
        self.limit_queue(medium, media);
        self.policer.set(spec.police.as_ref());
        self.replay = Replay::new(spec, now_ns);
        self.effects.set(spec, now_ns);
    }

    /// Moves to another medium from now on, and changes nothing else.
    pub fn join(&mut self, medium: usize, media: &[(String, MediumSpec)]) {
        self.spec.medium = Some(media[medium].0.clone());
        self.limit_queue(Some(medium), media);
    }

    /// Sets the queue's limits by the spec and by the present medium. CoDel continues if the medium
    /// stays the same.
    fn limit_queue(&mut self, medium: Option<usize>, media: &[(String, MediumSpec)]) {
        let spec = medium.map(|medium| &media[medium].1);
        self.limits =
            Limits::of(&self.spec, spec.map_or(DEFAULT_QUEUE_FRAMES, |spec| spec.queue_frames));
        if self.medium != medium {
            let new = |codel| std::array::from_fn(|_| Codel::new(codel));
            self.codel = spec.and_then(|spec| spec.codel).map(new);
        }
        self.medium = medium;
    }

    /// Functions of time begin anew.
    pub fn restart(&mut self, now_ns: i64) {
        self.replay = Replay::new(&self.spec, now_ns);
        self.effects.loss.restart(now_ns);
    }

    /// Whether a frame that comes now crosses at once.
    pub fn is_free(&self) -> bool {
        self.medium.is_none()
            && !self.spec.has_rate()
            && self.serving.is_none()
            && !self.airborne
            && self.queue.is_empty()
    }

    pub fn lost(&self) -> Verdict {
        match self.way {
            Way::Up => Verdict::LostUp,
            Way::Down => Verdict::LostDown,
        }
    }

    pub fn policed(&self) -> Verdict {
        match self.way {
            Way::Up => Verdict::PolicedUp,
            Way::Down => Verdict::PolicedDown,
        }
    }

    pub fn queue_full(&self) -> Verdict {
        match self.way {
            Way::Up => Verdict::QueueFullUp,
            Way::Down => Verdict::QueueFullDown,
        }
    }
}
