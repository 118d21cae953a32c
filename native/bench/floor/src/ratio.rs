//! A ratio of two things measured in pairs: the median of the pairs' ratios, and the order statistics around it.
//!
//! Outliers of a busy machine do not move it. The number of pairs below the true median is binomial (n, 1/2): for large n the ranks
//! n/2 ± 0.98 · √n hold it with 95 %.

use serde_json::{json, Value};

/// `ours` and `theirs` are values of the same unit, pair by pair; `limit` is the promise, in words.
pub fn line(what: &str, metric: &str, ours: &[f64], theirs: &[f64], limit: &str) -> Value {
    let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let n = ratios.len();
    let low = (n as f64 / 2.0 - 0.98 * (n as f64).sqrt()).floor().max(0.0) as usize;
    json!({
        "bench": "floor", "what": what, "message_bytes": 64, "metric": metric, "ours": median(ours), "theirs": median(theirs),
        "ratio": median(&ratios), "low": ratios[low], "high": ratios[n - 1 - low], "pairs": n, "limit": limit,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_ratio_comes_back_within_its_bounds() {
        let theirs: Vec<f64> = (1..=100).map(f64::from).collect();
        let ours: Vec<f64> = theirs.iter().enumerate().map(|(i, v)| v * (1.0 + i as f64 / 100.0)).collect();
        let line = line("x", "y", &ours, &theirs, "z");
        let value = |name: &str| line[name].as_f64().unwrap();
        assert!((value("ratio") - 1.495).abs() < 1e-9);
        assert!((value("low") - 1.40).abs() < 1e-9 && (value("high") - 1.59).abs() < 1e-9, "{line}");
    }
}
