//! A ratio of two things measured in pairs: the median of the pairs' ratios, with the order statistics that hold it.
//!
//! The number of pairs below the true median is binomial (n, 1/2), whatever the distribution; that gives the ranks between which the
//! median lies with at least 95 %.

use serde_json::{json, Value};

/// `ours` and `theirs` are in the same unit, pair by pair.
pub fn line(what: &str, message_bytes: u32, metric: &str, ours: &[f64], theirs: &[f64]) -> Value {
    let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).filter(|r| !r.is_nan()).collect();
    ratios.sort_by(f64::total_cmp);
    let bound = |rank: Option<usize>| rank.map_or(Value::Null, |rank| json!(ratios[rank]));
    let low = low_rank(ratios.len());
    json!({
        "bench": "fastdds", "what": what, "message_bytes": message_bytes, "metric": metric, "ours": median(ours), "theirs": median(theirs),
        "ratio": median(&ratios), "low": bound(low), "high": bound(low.map(|rank| ratios.len() - 1 - rank)), "pairs": ratios.len(),
        "interval": "95 % order statistics of the pairs' ratios",
    })
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len() / 2, sorted.len() % 2) {
        (0, 0) => f64::NAN,
        (middle, 0) => (sorted[middle - 1] + sorted[middle]) / 2.0,
        (middle, _) => sorted[middle],
    }
}

/// The highest rank k (from 0) with P(binomial(n, 1/2) ≤ k) ≤ 2.5 %; none below 6 pairs.
fn low_rank(n: usize) -> Option<usize> {
    let mut exactly = 0.5_f64.powi(n as i32);
    let mut at_most = exactly;
    let mut rank = None;
    while at_most <= 0.025 {
        let k: usize = rank.map_or(0, |r: usize| r + 1);
        rank = Some(k);
        exactly *= (n - k) as f64 / (k + 1) as f64;
        at_most += exactly;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_sign_test() {
        // Tables of the sign test, two-sided 5 %.
        assert_eq!([5, 6, 8, 9, 20, 60].map(low_rank), [None, Some(0), Some(0), Some(1), Some(5), Some(21)]);
    }

    #[test]
    fn a_known_ratio_comes_back_and_medians_are_medians() {
        let theirs: Vec<f64> = (1..=20).map(f64::from).collect();
        let ours: Vec<f64> = theirs.iter().map(|t| t * 1.25).collect();
        let line = line("x", 1, "y", &ours, &theirs);
        assert_eq!([&line["ratio"], &line["low"], &line["high"]].map(Value::as_f64), [Some(1.25); 3]);
        assert_eq!((median(&[4.0, 1.0]), median(&[9.0, 1.0, 2.0])), (2.5, 2.0));
        assert!(median(&[]).is_nan());
    }
}
