//! A link whose rate, delay and loss follow a recording, in either of two forms: our own rows, or
//! the delivery opportunities of Mahimahi (Netravali et al., USENIX ATC 2015). Serialisation is
//! computed over the rows during which a frame crosses.

use crate::spec::{Row, Spec, Trace};

/// A trace that began at `begin_ns`; a value that the trace does not give is the spec's own.
pub struct Replay {
    trace: Option<Trace>,
    begin_ns: i64,
    rate_bps: Option<u64>,
    delay_ns: i64,
    /// Mahimahi: the opportunity that was last used (counted over all repeats) and the bytes left
    /// of it.
    used: Option<(u64, u64)>,
}

/// The time of a frame that never crosses: the link stays dead.
pub const NEVER: i64 = i64::MAX;
/// The size of Ethernet's header, which Mahimahi does not count, less the 4 bytes of the device's
/// header, which it does count.
const MAHIMAHI_HEADER: i64 = 14 - 4;

impl Replay {
    pub fn new(spec: &Spec, begin_ns: i64) -> Replay {
        Replay {
            trace: spec.trace.clone(),
            begin_ns,
            rate_bps: spec.rate_bps,
            delay_ns: spec.delay_ns,
            used: None,
        }
    }

    pub fn delay_ns(&self, at_ns: i64) -> i64 {
        self.row(at_ns).and_then(|(row, _)| row.2).unwrap_or(self.delay_ns)
    }

    /// The loss at this time, if the trace gives it.
    pub fn loss(&self, at_ns: i64) -> Option<f64> {
        self.row(at_ns).and_then(|(row, _)| row.3)
    }

    /// The rate at this time, for limits of a queue in time; None if frames do not wait.
    pub fn rate_bps(&self, at_ns: i64) -> Option<u64> {
        if let Some(Trace { opportunities_ns: Some(times), bytes, .. }) = &self.trace {
            let period_ns = *times.last().expect("checked: not empty") as u128;
            return Some(
                (times.len() as u128 * u128::from(*bytes) * 8_000_000_000 / period_ns).max(1)
                    as u64,
            );
        }
        self.row(at_ns).and_then(|(row, _)| row.1).or(self.rate_bps)
    }

    /// When a frame that begins now will have crossed; [`NEVER`] on a trace that ends at rate 0.
    pub fn finish_ns(&mut self, begin_ns: i64, frame_bytes: usize) -> i64 {
        if matches!(&self.trace, Some(Trace { opportunities_ns: Some(_), .. })) {
            return self
                .next_opportunity(begin_ns, (frame_bytes as i64 - MAHIMAHI_HEADER).max(1) as u64);
        }
        let (mut at_ns, mut left_bits) = (begin_ns, frame_bytes as f64 * 8.0);
        loop {
            let (rate, until_ns) = match self.row(at_ns) {
                None => (self.rate_bps, self.first_row_ns()),
                Some((row, until_ns)) => (row.1.or(self.rate_bps), until_ns),
            };
            let Some(rate) = rate else { return at_ns };
            let needed_ns = left_bits * 1e9 / rate as f64;
            if until_ns == NEVER {
                return if rate == 0 { NEVER } else { at_ns + needed_ns.round() as i64 };
            }
            let row_ns = until_ns - at_ns;
            if needed_ns <= row_ns as f64 {
                return at_ns + needed_ns.round() as i64;
            }
            left_bits -= row_ns as f64 * rate as f64 / 1e9;
            at_ns = until_ns;
        }
    }

    /// When the first row begins; NEVER without a trace.
    fn first_row_ns(&self) -> i64 {
        let first = self.trace.as_ref().and_then(|trace| trace.rows.as_ref()).map(|rows| rows[0].0);
        first.map_or(NEVER, |first_ns| self.begin_ns + first_ns)
    }

    /// The row in force and the end of its time; None before the first.
    fn row(&self, at_ns: i64) -> Option<(Row, i64)> {
        let trace = self.trace.as_ref()?;
        let rows = trace.rows.as_ref()?;
        let since_ns = at_ns - self.begin_ns;
        let last = rows.len() - 1;
        if since_ns < rows[0].0 {
            return None;
        }
        if !trace.repeat || last == 0 {
            let index = rows.partition_point(|row| row.0 <= since_ns) - 1;
            return Some((
                rows[index],
                if index == last { NEVER } else { self.begin_ns + rows[index + 1].0 },
            ));
        }
        // The last row lasts as long as the one before it; then the first begins again.
        let period_ns = rows[last].0 + (rows[last].0 - rows[last - 1].0) - rows[0].0;
        let (turn, within_ns) =
            ((since_ns - rows[0].0) / period_ns, (since_ns - rows[0].0) % period_ns + rows[0].0);
        let index = rows.partition_point(|row| row.0 <= within_ns) - 1;
        let end_ns = if index == last { period_ns + rows[0].0 } else { rows[index + 1].0 };
        Some((rows[index], self.begin_ns + turn * period_ns + end_ns))
    }

    fn next_opportunity(&mut self, begin_ns: i64, mut bytes: u64) -> i64 {
        let Some(Trace { opportunities_ns: Some(times), bytes: each, repeat, .. }) = &self.trace
        else {
            return begin_ns;
        };
        let (count, period_ns) = (times.len() as u64, *times.last().expect("checked: not empty"));
        let time_of = |index: u64| {
            (*repeat || index < count).then(|| {
                self.begin_ns + (index / count) as i64 * period_ns + times[(index % count) as usize]
            })
        };
        // The bytes left of this opportunity, if its time is now; an unused one is lost.
        let (mut index, mut left) = match self.used {
            Some((index, left)) if time_of(index).is_some_and(|at_ns| at_ns >= begin_ns) => {
                (index, left)
            }
            used => {
                let since_ns = begin_ns - self.begin_ns;
                let turn = if *repeat { since_ns / period_ns } else { 0 };
                let first = turn as u64 * count
                    + times.partition_point(|at_ns| *at_ns < since_ns - turn * period_ns) as u64;
                (first.max(used.map_or(0, |(index, _)| index + 1)), *each)
            }
        };
        loop {
            let Some(at_ns) = time_of(index) else { return NEVER };
            if bytes <= left {
                self.used = Some((index, left - bytes));
                return at_ns.max(begin_ns);
            }
            bytes -= left;
            (index, left) = (index + 1, *each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(text: &str) -> Replay {
        let spec: Spec = serde_json::from_str(text).unwrap();
        assert_eq!(spec.problem(&Default::default()), None);
        Replay::new(&spec, 1_000)
    }

    #[test]
    fn a_constant_rate_takes_bits_over_rate() {
        let mut replay = replay(r#"{"rate_bps": 54000000}"#);
        assert_eq!(replay.finish_ns(5, 1514), 5 + 224_296);
        assert_eq!((replay.delay_ns(7), replay.loss(7)), (0, None));
    }

    #[test]
    fn rows_follow_each_other_and_a_frame_may_cross_several() {
        // 8 bit per µs, then nothing for 1 ms, then 80 bit per µs; again from 3 ms on.
        let text = r#"{"delay_ns": 9, "trace": {"rows": [[0, 8000000, null, 0.5], [1000000, 0, 7, null], [2000000, 80000000, null, null]]}}"#;
        let mut replay = replay(text);
        assert_eq!(replay.finish_ns(1_000, 500), 501_000);
        assert_eq!(replay.finish_ns(501_000, 1500), 1_000 + 2_000_000 + 100_000); // 500 bytes in the first row, 1000 in the third
        assert_eq!((replay.delay_ns(2_000), replay.loss(2_000)), (9, Some(0.5)));
        assert_eq!((replay.delay_ns(1_001_000), replay.loss(1_001_000)), (7, None));
        assert_eq!(replay.loss(3_001_001), Some(0.5));
        assert_eq!(replay.finish_ns(3_001_000, 500), 3_501_000);
    }

    #[test]
    fn a_trace_that_does_not_repeat_keeps_its_last_row() {
        let mut replay = replay(
            r#"{"trace": {"rows": [[0, 8000000, null, null], [1000000, 0, null, null]], "repeat": false}}"#,
        );
        assert_eq!(replay.finish_ns(1_000, 1000), 1_001_000);
        assert_eq!(replay.finish_ns(1_000, 1001), NEVER);
    }

    #[test]
    fn mahimahi_lets_its_bytes_go_at_each_opportunity() {
        // At 1, 2, 2 and 5 ms, then the same 5 ms later.
        let mut replay =
            replay(r#"{"trace": {"opportunities_ns": [1000000, 2000000, 2000000, 5000000]}}"#);
        let ms = |k: i64| 1_000 + k * 1_000_000;
        assert_eq!(replay.finish_ns(ms(0), 1514), ms(1));
        // Two frames at the double opportunity, then the next.
        assert_eq!(
            [
                replay.finish_ns(ms(1), 1514),
                replay.finish_ns(ms(2), 1514),
                replay.finish_ns(ms(2), 1514)
            ],
            [ms(2), ms(2), ms(5)]
        );
        // Small frames share an opportunity; a large one takes several.
        assert_eq!([replay.finish_ns(ms(5), 700), replay.finish_ns(ms(6), 700)], [ms(6), ms(6)]);
        assert_eq!(replay.finish_ns(ms(6), 2500), ms(7));
        // An opportunity that no frame used is lost.
        assert_eq!(replay.finish_ns(ms(9), 1514), ms(10));
    }

    #[test]
    fn mahimahi_at_full_load_has_the_rate_of_its_trace() {
        let times: Vec<i64> = (1..=1000).map(|k| k * 1_000_000 + (k % 7) * 10_000).collect();
        let spec = Spec {
            trace: Some(Trace {
                rows: None,
                opportunities_ns: Some(times),
                fd: None,
                bytes: 1504,
                repeat: true,
            }),
            ..Spec::default()
        };
        let mut replay = Replay::new(&spec, 0);
        let mut at_ns = 0;
        (0..5000).for_each(|_| at_ns = replay.finish_ns(at_ns, 1514));
        let expected = replay.rate_bps(0).unwrap() as f64;
        let rate = 5000.0 * 1504.0 * 8e9 / at_ns as f64;
        assert!((rate / expected - 1.0).abs() < 0.002, "{rate} {expected}");
    }
}
