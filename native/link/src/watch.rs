//! How late the engine gets its processor, by wake-ups at known times. A frame has no such time:
//! it counts from when it was read, so one that waited for the engine says nothing of it.

use serde::{Deserialize, Serialize};

const EVERY_NS: i64 = 5_000_000;
/// What later wake-ups are kept from; a quantum is on top of it, since it is meant.
const KEPT_FROM_NS: i64 = 50_000;
const MOST: usize = 1 << 16;

/// In the document: `late` are (when it was due, how late it was) of those later than `from_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wakes {
    pub every_ns: i64,
    pub from_ns: i64,
    pub late: Vec<(i64, i64)>,
    /// That found no room.
    pub unkept: u64,
}

#[derive(Default)]
pub struct Watch {
    /// None: nobody watches.
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

    /// When to look next.
    pub fn next_ns(&self) -> Option<i64> {
        self.next_ns
    }

    /// The engine is awake now. One that slept through several is late for each of them.
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
