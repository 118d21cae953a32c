//! A share of every processor, in periods of 10 ms, at ordinary priority.
//!
//! The share is processor time that the thread really got within the period, so that a thread that
//! had to wait still takes its half. Time that it could not get by the period's end is given up and
//! not caught up: a backlog would turn `cpu50` into `cpu100`. The busy part begins at a
//! pseudo-random place of each period: a fixed place would interfere with publishers of 100 Hz, and
//! processors in step would leave either none or all of them free.

use crate::clock::{now_ns, sleep_until, thread_cpu_ns};

pub const PERIOD_NS: i64 = 10_000_000;

/// Runs for ever: it works for `share` of each period, in calls of `work`, each of which should
/// take some microseconds.
pub fn duty(place: usize, share: f64, mut work: impl FnMut()) -> ! {
    let busy_ns = (PERIOD_NS as f64 * share) as i64;
    let mut random = Xorshift::new(place as u64);
    let mut period_ns = now_ns();
    loop {
        if busy_ns >= PERIOD_NS {
            work();
            continue;
        }
        period_ns += PERIOD_NS;
        sleep_until(period_ns + random.below(PERIOD_NS - busy_ns));
        let (end_ns, enough_ns) = (period_ns + PERIOD_NS, thread_cpu_ns() + busy_ns);
        while thread_cpu_ns() < enough_ns && now_ns() < end_ns {
            work();
        }
        // After a long stop (a suspended machine) the periods begin anew.
        period_ns = period_ns.max(now_ns() - PERIOD_NS);
    }
}

/// About a microsecond of arithmetic that no compiler removes and that does not touch memory.
pub fn arithmetic() {
    let mut x = std::hint::black_box(0x9e37_79b9_u64);
    for _ in 0..400 {
        x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(17);
    }
    std::hint::black_box(x);
}

struct Xorshift(u64);

impl Xorshift {
    fn new(seed: u64) -> Xorshift {
        Xorshift((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, limit: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_period_are_spread_and_differ_between_processors() {
        let draw = |seed| {
            let mut random = Xorshift::new(seed);
            (0..1000).map(|_| random.below(5_000_000)).collect::<Vec<_>>()
        };
        let (first, second) = (draw(0), draw(1));
        assert_ne!(first, second);
        for places in [first, second] {
            assert!(places.iter().all(|p| (0..5_000_000).contains(p)));
            let mean = places.iter().sum::<i64>() / 1000;
            assert!((2_200_000..2_800_000).contains(&mean), "{mean}");
        }
    }
}
