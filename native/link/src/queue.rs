//! The frames that wait for a rate: drop-tail, a queue per priority class with limits of its own (a
//! flood of one class must not keep the others out). If no frame waits, a frame is always accepted;
//! otherwise a limit below one frame would stop all frames.

use std::collections::VecDeque;

use crate::frame::Frame;
use crate::spec::Spec;

pub const CLASSES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    bytes: Option<u64>,
    frames: Option<u64>,
    ns: Option<i64>,
}

impl Limits {
    /// A spec's own limits, or `default_frames`.
    pub fn of(spec: &Spec, default_frames: u64) -> Limits {
        let Spec { queue_bytes, queue_frames, queue_ns, .. } = *spec;
        let none = queue_bytes.is_none() && queue_frames.is_none() && queue_ns.is_none();
        Limits {
            bytes: queue_bytes,
            frames: if none { Some(default_frames) } else { queue_frames },
            ns: queue_ns,
        }
    }
}

#[derive(Default)]
struct Line {
    frames: VecDeque<Box<Frame>>,
    /// The number of frames, including the one that is being sent.
    count: u64,
    bytes: u64,
}

#[derive(Default)]
pub struct Queue {
    lines: [Line; CLASSES],
}

impl Queue {
    /// The class whose limits apply to a frame.
    pub fn class_of(frame: &Frame) -> usize {
        usize::from(frame.facts.priority) % CLASSES
    }

    /// Returns the frame if a limit is reached. `rate_bps` is the rate at which the queue is served
    /// now.
    pub fn push(
        &mut self,
        frame: Box<Frame>,
        limits: &Limits,
        rate_bps: Option<u64>,
    ) -> Result<(), Box<Frame>> {
        let line = &mut self.lines[Queue::class_of(&frame)];
        let bytes = line.bytes + frame.bytes.len() as u64;
        let too_long = |limit_ns: i64| {
            rate_bps.is_some_and(|rate| {
                u128::from(bytes) * 8_000_000_000 > limit_ns as u128 * u128::from(rate)
            })
        };
        let full = limits.bytes.is_some_and(|limit| bytes > limit)
            || limits.frames.is_some_and(|limit| line.count >= limit)
            || limits.ns.is_some_and(too_long);
        if full && line.count > 0 {
            return Err(frame);
        }
        line.count += 1;
        line.bytes = bytes;
        line.frames.push_back(frame);
        Ok(())
    }

    /// The next frame to send; it counts until [`Queue::gone`].
    pub fn pop(&mut self) -> Option<Box<Frame>> {
        self.lines.iter_mut().find_map(|line| line.frames.pop_front())
    }

    /// Returns a frame that [`Queue::pop`] gave to the queue, as its next frame.
    pub fn put_back(&mut self, frame: Box<Frame>) {
        self.lines[Queue::class_of(&frame)].frames.push_front(frame);
    }

    /// A frame that [`Queue::pop`] gave has crossed, or was dropped.
    pub fn gone(&mut self, frame: &Frame) {
        let line = &mut self.lines[Queue::class_of(frame)];
        line.count -= 1;
        line.bytes -= frame.bytes.len() as u64;
    }

    /// Whether a frame of that class waits.
    pub fn waits(&self, class: usize) -> bool {
        !self.lines[class].frames.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.frames.is_empty())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.lines.iter().flat_map(|line| line.frames.iter().map(Box::as_ref))
    }
}
