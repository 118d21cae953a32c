//! Quantiles of durations that are not kept: counts in bins that are 1/64 of a power of two wide,
//! so a value is known to 1.6 %.

use serde::{Deserialize, Serialize};

const BITS: u32 = 6;
const BINS: usize = (64 - BITS as usize + 1) << BITS;

pub struct Histogram {
    bins: Box<[u64]>,
    count: u64,
    max: i64,
}

/// The quantiles in the document; one with fewer than ten values beyond it is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    pub count: u64,
    pub p50: Option<i64>,
    pub p99: Option<i64>,
    pub p999: Option<i64>,
    pub max: Option<i64>,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { bins: vec![0; BINS].into_boxed_slice(), count: 0, max: i64::MIN }
    }
}

impl Histogram {
    /// Counts a duration; a negative one counts as 0.
    pub fn add(&mut self, ns: i64) {
        let ns = ns.max(0);
        self.bins[bin(ns as u64)] += 1;
        self.count += 1;
        self.max = self.max.max(ns);
    }

    pub fn quantiles(&self) -> Quantiles {
        let at = |share: f64| self.at(share);
        Quantiles {
            count: self.count,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: (self.count > 0).then_some(self.max),
        }
    }

    /// The upper edge of the bin with this quantile.
    fn at(&self, share: f64) -> Option<i64> {
        let n = self.count as f64;
        if n * (1.0 - share) < 10.0 - 1e-9 {
            return None;
        }
        let rank = ((n * share).ceil() as u64).max(1);
        let mut below = 0;
        let bin = self.bins.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(upper_edge(bin).min(self.max))
    }
}

fn bin(value: u64) -> usize {
    if value < 1 << BITS {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - BITS;
    (((shift + 1) as usize) << BITS) + ((value >> shift) as usize & ((1 << BITS) - 1))
}

fn upper_edge(bin: usize) -> i64 {
    if bin < 1 << BITS {
        return bin as i64;
    }
    let shift = (bin >> BITS) as u32 - 1;
    let low = (((bin & ((1 << BITS) - 1)) as u64) | 1 << BITS) << shift;
    (low + (1 << shift) - 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_a_bin() {
        let mut histogram = Histogram::default();
        (1..=100_000).for_each(|k| histogram.add(k * 17));
        let quantiles = histogram.quantiles();
        for (value, exact) in [
            (quantiles.p50, 850_000.0),
            (quantiles.p99, 1_683_000.0),
            (quantiles.p999, 1_698_300.0),
        ] {
            let ratio = value.unwrap() as f64 / exact;
            assert!((1.0..1.02).contains(&ratio), "{quantiles:?}");
        }
        assert_eq!(quantiles.max, Some(1_700_000));
    }

    #[test]
    fn too_few_values_give_no_quantile() {
        let mut histogram = Histogram::default();
        assert_eq!(
            histogram.quantiles(),
            Quantiles { count: 0, p50: None, p99: None, p999: None, max: None }
        );
        (0..999).for_each(|k| histogram.add(k));
        assert!(histogram.quantiles().p50.is_some() && histogram.quantiles().p99.is_none());
        histogram.add(i64::MAX);
        assert_eq!(histogram.quantiles().p99, Some(991)); // the upper edge of the bin 984 to 991
    }
}
