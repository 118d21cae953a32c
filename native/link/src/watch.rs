//! How late the engine's thread runs, measured by wake-ups at known times. A frame has no such
//! time: its time is when it was read, so a frame that waited for the engine does not show the
//! wait.

use serde::{Deserialize, Serialize};

const EVERY_NS: i64 = 5_000_000;
/// The delay above which a wake-up is kept; a quantum is added to it, since that delay is intended.
const KEPT_FROM_NS: i64 = 50_000;
const MOST: usize = 1 << 16;

/// The lateness in the document: `late` are (when it was due, how late it was) of those later than
/// `from_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wakes {
    pub every_ns: i64,
    pub from_ns: i64,
    pub late: Vec<(i64, i64)>,
    /// The number of late wake-ups that found no room.
    pub unkept: u64,
}

#[derive(Default)]
pub struct Watch {
    /// When the next wake-up is due; None: nobody measures.
    next_ns: Option<i64>,
    pub wakes: Wakes,
}

impl Watch {
    pub fn begin(&mut self, now_ns: i64, quantum_ns: i64) {
        self.next_ns = Some(now_ns + EVERY_NS);
        self.wakes = Wakes {
            every_ns: EVERY_NS,
            from_ns: KEPT_FROM_NS + quantum_ns,
            late: Vec::with_capacity(MOST),
            unkept: 0,
        };
    }

    /// When to wake up next.
    pub fn next_ns(&self) -> Option<i64> {
        self.next_ns
    }

    /// The engine is awake now. If it slept through several wake-ups, it is late for each of them.
    pub fn look(&mut self, now_ns: i64) {
        while let Some(due_ns) = self.next_ns.filter(|due_ns| *due_ns <= now_ns) {
            self.next_ns = Some(due_ns + EVERY_NS);
            let late_ns = now_ns - due_ns;
            if late_ns <= self.wakes.from_ns {
                continue;
            }
            if self.wakes.late.len() < MOST {
                self.wakes.late.push((due_ns, late_ns));
            } else {
                self.wakes.unkept += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slept_through_several_is_late_for_each() {
        let mut watch = Watch::default();
        watch.look(i64::MAX / 2);
        assert_eq!((watch.next_ns(), &watch.wakes), (None, &Wakes::default()));
        watch.begin(0, 100_000);
        watch.look(EVERY_NS - 1);
        watch.look(EVERY_NS + KEPT_FROM_NS + 100_000);
        assert_eq!((watch.next_ns(), watch.wakes.late.len()), (Some(2 * EVERY_NS), 0));
        watch.look(4 * EVERY_NS + 1);
        assert_eq!(
            watch.wakes.late,
            [(2 * EVERY_NS, 2 * EVERY_NS + 1), (3 * EVERY_NS, EVERY_NS + 1)]
        );
        assert_eq!(watch.next_ns(), Some(5 * EVERY_NS));
    }
}
