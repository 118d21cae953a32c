//! A ratio of two programs measured in pairs: the median of the pairs' ratios, and the order
//! statistics around it.
//!
//! No distribution is assumed, because that of a busy machine has outliers: the number of pairs
//! below the true median is binomial (n, 1/2), which gives the ranks of the interval's ends.
//!
//! If a ratio is still open, as many pairs again are measured, so it may be examined several times.
//! Each look has an interval of 1 - 5 % / [`LOOKS`], so that together they contain the median with
//! at least 95 % (Bonferroni), whichever look is the last.

use std::ops::Range;

/// The most looks at a ratio; the pairs double from look to look.
pub const LOOKS: u32 = 4;
/// The error of one side of one look.
const ERROR: f64 = 0.025 / LOOKS as f64;

/// Passes the numbers of the next rounds to `run`, first `first` rounds and then as many again as
/// there were, until `run` returns that everything is decided; at most [`LOOKS`] times.
pub fn until_decided(
    first: usize,
    mut run: impl FnMut(Range<usize>) -> Result<bool, String>,
) -> Result<(), String> {
    let mut done = 0;
    for look in 0..LOOKS {
        let next = first << look;
        if run(done..next)? {
            break;
        }
        done = next;
    }
    Ok(())
}

/// The ratios of pairs. None is NaN; a value that never came is infinite.
pub struct Ratio {
    pub median: f64,
    /// The interval of the median; None below 8 pairs.
    pub bounds: Option<(f64, f64)>,
    pub pairs: usize,
    /// The number of pairs without a ratio, because neither side has a value.
    pub without: usize,
}

/// `ours` and `theirs` are values of the same unit, pair by pair.
pub fn of_pairs(ours: &[f64], theirs: &[f64]) -> Ratio {
    assert_eq!(ours.len(), theirs.len(), "values come in pairs");
    let mut ratios: Vec<f64> =
        ours.iter().zip(theirs).map(|(a, b)| a / b).filter(|r| !r.is_nan()).collect();
    ratios.sort_by(f64::total_cmp);
    let bounds =
        lowest_rank(ratios.len()).map(|rank| (ratios[rank], ratios[ratios.len() - 1 - rank]));
    Ratio {
        median: median(&ratios),
        bounds,
        pairs: ratios.len(),
        without: ours.len() - ratios.len(),
    }
}

/// The median; NaN of an empty list.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The highest rank k (from 0) with P(binomial(n, 1/2) ≤ k) ≤ [`ERROR`]; None below 8 pairs.
fn lowest_rank(n: usize) -> Option<usize> {
    // Logarithms are used because 2^-n leaves the range of a double at a thousand pairs.
    let mut ln_term = n as f64 * 0.5_f64.ln();
    let mut at_most = 0.0;
    let mut rank = None;
    for k in 0..n {
        at_most += ln_term.exp();
        if at_most > ERROR {
            break;
        }
        rank = Some(k);
        ln_term += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_sign_test() {
        // From scipy's binom.cdf, two-sided 1.25 %.
        assert_eq!(
            [0, 7, 8, 10, 20, 60].map(lowest_rank),
            [None, None, Some(0), Some(0), Some(4), Some(19)]
        );
        // n/2 - 1.249 √n for many.
        for n in [1_000, 1_100, 10_000] {
            let expected = n as f64 / 2.0 - 1.249 * (n as f64).sqrt();
            assert!(
                (lowest_rank(n).unwrap() as f64 - expected).abs() < 2.0,
                "{n}: {:?}, {expected}",
                lowest_rank(n)
            );
        }
    }

    #[test]
    fn a_known_ratio_comes_back_within_its_bounds() {
        let theirs: Vec<f64> = (1..=21).map(f64::from).collect();
        let ours: Vec<f64> =
            theirs.iter().enumerate().map(|(i, v)| v * (1.0 + i as f64 / 100.0)).collect();
        let ratio = of_pairs(&ours, &theirs);
        let (low, high) = ratio.bounds.unwrap();
        assert!(
            (ratio.median - 1.10).abs() < 1e-9
                && (low - 1.04).abs() < 1e-9
                && (high - 1.16).abs() < 1e-9,
            "{low} {high}"
        );
        assert!(of_pairs(&ours[..7], &theirs[..7]).bounds.is_none());
    }

    #[test]
    fn what_is_open_gets_as_many_rounds_again_and_ends_at_the_last_look() {
        let looks = |decided_at: usize| {
            let mut rounds = Vec::new();
            until_decided(3, |more| {
                rounds.push((more.start, more.end));
                Ok(more.end >= decided_at)
            })
            .unwrap();
            rounds
        };
        assert_eq!(looks(1), [(0, 3)]);
        assert_eq!(looks(6), [(0, 3), (3, 6)]);
        assert_eq!(looks(1_000), [(0, 3), (3, 6), (6, 12), (12, 24)]);
        assert_eq!(until_decided(1, |_| Err("broken".into())), Err("broken".into()));
    }

    #[test]
    fn what_never_came_is_later_than_all_and_two_of_them_have_no_ratio() {
        let infinite = f64::INFINITY;
        let ratio = of_pairs(&[infinite, infinite, 2.0], &[1.0, infinite, 1.0]);
        assert_eq!((ratio.median, ratio.pairs, ratio.without), (infinite, 2, 1));
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
