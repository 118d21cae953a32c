//! The work of a hand-written program's user with each message, and the records of its reader.
//!
//! The payload is written and read as a whole, as by the worker: that is the user's work, not the
//! instrument's.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use rmwbench_harness::payload::{fill, verify};

use crate::turns::Path;

/// The size of the sequence number, which the pattern follows.
const HEAD_BYTES: usize = 8;
const WRITER: u32 = 1;

/// Writes message `seq` over the whole payload.
pub fn write_message(payload: &mut [u8], seq: u64) {
    payload[..HEAD_BYTES].copy_from_slice(&seq.to_le_bytes());
    fill(&mut payload[HEAD_BYTES..], WRITER, seq);
}

/// When each message was taken; one reading thread writes it, and any thread may read it.
pub struct Arrivals {
    taken_ns: Vec<AtomicI64>,
    next: AtomicU64,
    corrupt: AtomicBool,
}

impl Arrivals {
    /// Room for at most this many messages.
    pub fn new(messages: usize) -> Arrivals {
        let taken_ns = (0..messages).map(|_| AtomicI64::new(0)).collect();
        Arrivals { taken_ns, next: AtomicU64::new(0), corrupt: AtomicBool::new(false) }
    }

    /// Reads the whole payload. One that is too short for a sequence number is not counted.
    pub fn take(&self, payload: &[u8], taken_ns: i64) {
        let Some((head, body)) = payload.split_at_checked(HEAD_BYTES) else { return };
        let seq = u64::from_le_bytes(head.try_into().expect("8 bytes"));
        let place = self.taken_ns.get(seq as usize);
        if !verify(body, WRITER, seq) || place.is_none() {
            self.corrupt.store(true, Ordering::Relaxed);
        }
        if let Some(place) = place {
            place.store(taken_ns, Ordering::Relaxed);
            self.next.store(seq + 1, Ordering::Release);
        }
    }

    /// Whether the last of `sent` messages has been taken.
    pub fn all(&self, sent: usize) -> bool {
        self.next.load(Ordering::Acquire) >= sent as u64
    }

    /// The latencies from the publish calls to the takes; None for messages that never arrived.
    pub fn latencies_ns(&self, call_ns: &[i64]) -> Vec<Option<f64>> {
        let taken = self.taken_ns.iter().map(|t| t.load(Ordering::Relaxed));
        call_ns
            .iter()
            .zip(taken)
            .map(|(call, taken)| (taken != 0).then_some((taken - call) as f64))
            .collect()
    }

    pub fn intact(&self) -> bool {
        !self.corrupt.load(Ordering::Relaxed)
    }
}

/// A hand-written program in Rust: it keeps the times of its publish calls, and its reader's
/// arrivals.
pub trait ByHand {
    /// Whether both ends have matched.
    fn matched(&mut self) -> bool;
    fn send(&mut self);
    fn calls_ns(&self) -> &[i64];
    fn arrivals(&self) -> &Arrivals;
}

impl<P: ByHand> Path for P {
    fn matched(&mut self) -> bool {
        ByHand::matched(self)
    }

    fn send(&mut self, _due_ns: i64) {
        ByHand::send(self);
    }

    fn all_received(&self) -> bool {
        self.arrivals().all(self.calls_ns().len())
    }

    fn latencies_ns(&self) -> Vec<Option<f64>> {
        self.arrivals().latencies_ns(self.calls_ns())
    }

    fn intact(&self) -> bool {
        self.arrivals().intact()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_seen_and_a_damaged_one_too() {
        let arrivals = Arrivals::new(3);
        let mut payload = [0; 64];
        for seq in [0, 2] {
            write_message(&mut payload, seq);
            arrivals.take(&payload, 100 + seq as i64);
        }
        arrivals.take(&[], 1);
        assert!(arrivals.all(3) && arrivals.intact());
        assert_eq!(arrivals.latencies_ns(&[90, 91, 92]), [Some(10.0), None, Some(10.0)]);
        payload[60] ^= 1;
        arrivals.take(&payload, 1);
        assert!(!arrivals.intact());
    }
}
