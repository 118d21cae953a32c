//! The cost of a time stamp and of a record on this machine: `rmwbench-null --clock-cost` prints
//! one JSON line.
//!
//! Each is timed in batches, because one is shorter than the clock's own step; a batch during which
//! the thread lost its processor is an outlier at the upper end, which does not change a median
//! over batches. The interval is the distribution-free one of the median (order statistics).

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::records::{layout, memfd, Kind, Records, Section, Sent};
use serde_json::{json, Value};

const BATCHES: usize = 201;
const PER_BATCH: u64 = 1000;

pub fn print() -> ExitCode {
    match measure() {
        Ok(document) => {
            println!("{document}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("clock cost: {message}");
            ExitCode::FAILURE
        }
    }
}

/// `{"unit": "ns", "clock_read": {"value", "low", "high", "batches"}, "record": {…}}`: the
/// nanoseconds of one reading of the clock, and of one record in memory that is faulted in, as in a
/// trial.
fn measure() -> Result<Value, String> {
    let section = section().map_err(|e| format!("records: {e}"))?;
    let clock_read = each_ns(|_| {
        black_box(now_ns());
    });
    let record =
        each_ns(|seq| section.sent(black_box(&Sent { seq, bytes: 64, ..Sent::default() })));
    Ok(json!({"unit": "ns", "clock_read": clock_read, "record": record}))
}

fn section() -> Result<Section, Box<dyn std::error::Error>> {
    let file = memfd(&layout(1, &[(Kind::Sent, 1, BATCHES as u64 * PER_BATCH)]))?;
    let records: Arc<Records> = Records::map(file)?;
    records.section(Kind::Sent, 1).ok_or_else(|| "the layout has no such section".into())
}

fn each_ns(mut one: impl FnMut(u64)) -> Value {
    let mut batches: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let began_ns = now_ns();
            (0..PER_BATCH).for_each(&mut one);
            (now_ns() - began_ns) as f64 / PER_BATCH as f64
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    let (low, high) = median_ranks(BATCHES);
    json!({"value": batches[BATCHES / 2], "low": batches[low], "high": batches[high], "batches": BATCHES})
}

/// The places of a 95 % interval of the median among n sorted values: n/2 ∓ 1.96·√n/2 (David &
/// Nagaraja, Order Statistics, §7.1, with the normal approximation of the binomial).
fn median_ranks(n: usize) -> (usize, usize) {
    let half = 1.96 * (n as f64).sqrt() / 2.0;
    let middle = n as f64 / 2.0;
    (
        ((middle - half).floor() as usize).saturating_sub(1),
        ((middle + half).ceil() as usize).min(n - 1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_positive_and_inside_their_intervals() {
        let document = measure().unwrap();
        for what in ["clock_read", "record"] {
            let (low, value, high) =
                (&document[what]["low"], &document[what]["value"], &document[what]["high"]);
            let (low, value, high) =
                (low.as_f64().unwrap(), value.as_f64().unwrap(), high.as_f64().unwrap());
            assert!(0.0 < low && low <= value && value <= high, "{document}");
        }
    }

    #[test]
    fn the_ranks_enclose_the_median() {
        assert_eq!(median_ranks(201), (85, 115));
        assert_eq!(median_ranks(1), (0, 0));
    }
}
