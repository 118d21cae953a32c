//! A ratio of two things measured in pairs: the median of the pairs' ratios, and the order statistics around it.
//!
//! Nothing is assumed of the distribution, which has outliers on a busy machine: the number of pairs below the true median is
//! binomial (n, 1/2), which gives the ranks between which it lies with at least 95 %.

use serde_json::{json, Value};

/// `ours` and `theirs` are values of the same unit, pair by pair.
pub fn line(what: &str, message_bytes: u32, metric: &str, ours: &[f64], theirs: &[f64]) -> Value {
    let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let rank = outer_rank(ratios.len());
    let (low, high) = match rank {
        Some(rank) => (json!(ratios[rank]), json!(ratios[ratios.len() - 1 - rank])),
        None => (Value::Null, Value::Null),
    };
    json!({
        "bench": "cyclonedds", "what": what, "message_bytes": message_bytes, "metric": metric, "ours": median(ours), "theirs": median(theirs),
        "ratio": median(&ratios), "low": low, "high": high, "pairs": ratios.len(),
        "interval": "95 % order statistics of the pairs' ratios",
    })
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The highest 0-based rank k with P(fewer than or exactly k of n fair coins are heads) ≤ 2.5 %; None below 6 pairs.
fn outer_rank(n: usize) -> Option<usize> {
    let (mut probability, mut sum, mut rank) = (0.5_f64.powi(n as i32), 0.0, None);
    for k in 0..n {
        sum += probability;
        if sum > 0.025 {
            break;
        }
        rank = Some(k);
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_sign_test() {
        assert_eq!(outer_rank(5), None);
        assert_eq!(outer_rank(6), Some(0));
        assert_eq!(outer_rank(20), Some(5));
        assert_eq!(outer_rank(60), Some(21));
    }

    #[test]
    fn a_known_ratio_comes_back() {
        let theirs: Vec<f64> = (1..=20).map(f64::from).collect();
        let ours: Vec<f64> = theirs.iter().map(|v| v * 1.5).collect();
        let line = line("x", 1, "y", &ours, &theirs);
        assert_eq!((line["ratio"].as_f64(), line["low"].as_f64(), line["high"].as_f64()), (Some(1.5), Some(1.5), Some(1.5)));
        assert_eq!(median(&[3.0, 1.0]), 2.0);
    }
}
