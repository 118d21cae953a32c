//! A ratio of two things measured in pairs: the median of the pairs' ratios, and the order statistics around it.
//!
//! No distribution is assumed, because a busy machine's has outliers: the number of pairs below the true median is binomial (n, 1/2),
//! which gives the ranks that hold it with at least 95 %.

use serde_json::{json, Value};

/// What a line is about.
pub struct Title<'a> {
    pub bench: &'a str,
    pub what: &'a str,
    pub message_bytes: u32,
    pub metric: &'a str,
}

/// `ours` and `theirs` are values of the same unit, pair by pair.
pub fn line(title: &Title<'_>, ours: &[f64], theirs: &[f64]) -> Value {
    let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let bounds = lowest_rank(ratios.len()).map(|rank| (ratios[rank], ratios[ratios.len() - 1 - rank]));
    json!({
        "bench": title.bench, "what": title.what, "message_bytes": title.message_bytes, "metric": title.metric,
        "ours": median(ours), "theirs": median(theirs),
        "ratio": median(&ratios), "low": bounds.map(|b| b.0), "high": bounds.map(|b| b.1), "pairs": ratios.len(),
        "interval": "95 % order statistics of the pairs' ratios", "limit": "equivalent within 5 %",
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

/// The highest 0-based rank k such that at most k of n fair coins show heads with probability ≤ 2.5 %; None below 6 pairs.
fn lowest_rank(n: usize) -> Option<usize> {
    let mut term = 0.5_f64.powi(n as i32);
    let mut sum = term;
    let mut rank = None;
    for k in 0..n {
        if sum > 0.025 {
            break;
        }
        rank = Some(k);
        term *= (n - k) as f64 / (k + 1) as f64;
        sum += term;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_sign_test() {
        assert_eq!([5, 6, 20, 60].map(lowest_rank), [None, Some(0), Some(5), Some(21)]);
    }

    #[test]
    fn a_known_ratio_comes_back_within_its_bounds() {
        let theirs: Vec<f64> = (1..=21).map(f64::from).collect();
        let ours: Vec<f64> = theirs.iter().enumerate().map(|(i, v)| v * (1.0 + i as f64 / 100.0)).collect();
        let line = line(&Title { bench: "b", what: "w", message_bytes: 1, metric: "m" }, &ours, &theirs);
        let value = |name: &str| line[name].as_f64().unwrap();
        assert!((value("ratio") - 1.10).abs() < 1e-9, "{line}");
        assert!(value("low") < 1.10 && value("high") > 1.10 && value("low") > 1.0 && value("high") < 1.20, "{line}");
    }
}
