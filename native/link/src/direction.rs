//! One direction of a host's link: its spec, its queue, what is on the wire, and its counters.

use crate::counters::Counters;
use crate::effects::Effects;
use crate::frame::{Frame, Verdict};
use crate::queue::{Limits, Queue};
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
    pub replay: Replay,
    pub effects: Effects,
    /// The frame under way, where the rate is our own and not a medium's.
    pub serving: Option<Box<Frame>>,
    pub medium: Option<usize>,
    /// When the last frame reaches the end: the next one does not overtake it.
    pub last_ns: i64,
    pub counters: Counters,
}

impl Direction {
    pub fn new(seed: u64, name: &str, way: Way, spec: &Spec, media: &[(String, MediumSpec)], begin_ns: i64) -> Direction {
        let place = format!("{name}.{}", if way == Way::Up { "up" } else { "down" });
        let mut direction = Direction {
            way,
            spec: Spec::default(),
            queue: Queue::default(),
            limits: Limits::of(spec, DEFAULT_QUEUE_FRAMES),
            replay: Replay::new(spec, begin_ns),
            effects: Effects::new(seed, &place, spec, begin_ns),
            serving: None,
            medium: None,
            last_ns: begin_ns,
            counters: Counters::default(),
        };
        direction.set(spec, media, begin_ns);
        direction
    }

    /// Another spec from now on. What waits stays; what is on the wire goes on as it began.
    pub fn set(&mut self, spec: &Spec, media: &[(String, MediumSpec)], now_ns: i64) {
        self.spec = spec.clone();
        self.medium = spec.medium.as_ref().and_then(|wanted| media.iter().position(|(name, _)| name == wanted));
        self.limits = Limits::of(spec, self.medium.map_or(DEFAULT_QUEUE_FRAMES, |medium| media[medium].1.queue_frames));
        self.replay = Replay::new(spec, now_ns);
        self.effects.set(spec, now_ns);
    }

    /// Whether a frame that comes now crosses at once.
    pub fn is_free(&self) -> bool {
        self.medium.is_none() && !self.spec.has_rate() && self.serving.is_none() && self.queue.is_empty()
    }

    pub fn lost(&self) -> Verdict {
        match self.way {
            Way::Up => Verdict::LostUp,
            Way::Down => Verdict::LostDown,
        }
    }

    pub fn queue_full(&self) -> Verdict {
        match self.way {
            Way::Up => Verdict::QueueFullUp,
            Way::Down => Verdict::QueueFullDown,
        }
    }
}
