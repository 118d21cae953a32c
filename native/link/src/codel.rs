//! CoDel (RFC 8289, 5): a queue in which every frame has waited longer than `target_ns` for
//! `interval_ns` drops one frame, and then, as long as that lasts, drops more and more often, so
//! that a sender that does not slow down loses as much as the queue cannot carry. Linux's WiFi has
//! it, with 20 and 100 ms (codel_params of net/mac80211).

use crate::spec::CodelSpec;

/// A new state of dropping continues the last one, if that ended no longer ago than this.
const REMEMBERED_INTERVALS: i64 = 16;

pub struct Codel {
    spec: CodelSpec,
    /// When frames will have waited too long for a whole interval; None while they do not.
    above_until_ns: Option<i64>,
    dropping: bool,
    next_ns: i64,
    count: u32,
    last_count: u32,
}

impl Codel {
    pub fn new(spec: CodelSpec) -> Codel {
        Codel { spec, above_until_ns: None, dropping: false, next_ns: 0, count: 0, last_count: 0 }
    }

    /// Whether the next frame, which has waited this long in the queue, is dropped. `last`: no
    /// frame waits behind it.
    pub fn drops(&mut self, waited_ns: i64, last: bool, now_ns: i64) -> bool {
        let above = self.is_above(waited_ns, last, now_ns);
        if !above {
            self.dropping = false;
            return false;
        }
        if self.dropping {
            if now_ns < self.next_ns {
                return false;
            }
            self.count += 1;
            self.next_ns = self.after(self.next_ns);
            return true;
        }
        self.dropping = true;
        let recent = now_ns - self.next_ns < REMEMBERED_INTERVALS * self.spec.interval_ns;
        let grown = self.count - self.last_count;
        self.count = if recent && grown > 1 { grown } else { 1 };
        self.last_count = self.count;
        self.next_ns = self.after(now_ns);
        true
    }

    fn is_above(&mut self, waited_ns: i64, last: bool, now_ns: i64) -> bool {
        if waited_ns < self.spec.target_ns || last {
            self.above_until_ns = None;
            return false;
        }
        match self.above_until_ns {
            Some(until_ns) => now_ns >= until_ns,
            None => {
                self.above_until_ns = Some(now_ns + self.spec.interval_ns);
                false
            }
        }
    }

    fn after(&self, from_ns: i64) -> i64 {
        from_ns + (self.spec.interval_ns as f64 / f64::from(self.count).sqrt()) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn codel() -> Codel {
        Codel::new(CodelSpec { target_ns: 20 * MS, interval_ns: 100 * MS })
    }

    /// The times, in ms, at which frames that leave every millisecond are dropped; `waited_ms`
    /// gives how long the frame at a time has waited.
    fn dropped(codel: &mut Codel, until_ms: i64, waited_ms: impl Fn(i64) -> i64) -> Vec<i64> {
        (0..until_ms).filter(|at| codel.drops(waited_ms(*at) * MS, false, at * MS)).collect()
    }

    #[test]
    fn a_queue_that_stays_long_loses_frames_at_shrinking_distances() {
        // The first after an interval, the next ones interval / sqrt(1), / sqrt(2), … later.
        let drops_ms = dropped(&mut codel(), 500, |_| 30);
        assert_eq!(drops_ms, [100, 200, 271, 329, 379, 424, 464]);
    }

    #[test]
    fn a_burst_that_drains_within_an_interval_loses_nothing() {
        let waited = |at: i64| if at % 100 < 90 { 50 } else { 10 };
        assert!(dropped(&mut codel(), 2000, waited).is_empty());
    }

    #[test]
    fn a_short_queue_ends_it_and_a_soon_long_one_goes_on_where_it_was() {
        let mut codel = codel();
        let short = 500..600;
        let drops_ms = dropped(&mut codel, 900, |at| if short.contains(&at) { 5 } else { 30 });
        let after: Vec<i64> = drops_ms.into_iter().filter(|at| *at >= 500).collect();
        // Seven frames were dropped before, so the distance is interval / sqrt(6) at once.
        assert_eq!(after[..3], [700, 741, 779]);
    }

    #[test]
    fn the_last_frame_of_a_queue_is_never_dropped() {
        let mut codel = codel();
        assert!((0..1000).all(|at| !codel.drops(50 * MS, true, at * MS)));
    }
}
