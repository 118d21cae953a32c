//! Laws of latency, with the formulas that a test checks against.
//!
//! | kind | parameters | mean | quantile q |
//! |---|---|---|---|
//! | `constant` | `ns` | ns | ns |
//! | `uniform` | `min_ns`, `max_ns` | (min + max) / 2 | min + q · (max − min) |
//! | `normal` | `mean_ns`, `sd_ns` | mean | mean + sd · z(q) |
//! | `lognormal` | `median_ns`, `sigma` | median · exp(sigma² / 2) | median · exp(sigma · z(q)) |
//! | `exponential` | `offset_ns`, `mean_ns` | mean | offset − (mean − offset) · ln(1 − q) |
//! | `pareto` | `min_ns`, `alpha` | alpha · min / (alpha − 1), infinite for alpha ≤ 1 | min · (1 − q)^(−1/alpha) |
//! | `bimodal` | `fast_ns`, `slow_ns`, `slow_p` | fast + slow_p · (slow − fast) | fast for q ≤ 1 − slow_p, then slow |
//!
//! z is the quantile of the standard normal law. A draw below 0 becomes 0: keep `sd_ns` at a
//! quarter of `mean_ns` or less, and the formulas hold to 1 in 30 000. A draw is at most one hour,
//! which only a Pareto law with alpha near 0 ever reaches.

use rand::Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use serde::{Deserialize, Serialize};

const CAP_NS: f64 = 3.6e12;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Law {
    Constant {
        ns: f64,
    },
    Uniform {
        min_ns: f64,
        max_ns: f64,
    },
    Normal {
        mean_ns: f64,
        sd_ns: f64,
    },
    Lognormal {
        median_ns: f64,
        sigma: f64,
    },
    Exponential {
        #[serde(default)]
        offset_ns: f64,
        mean_ns: f64,
    },
    Pareto {
        min_ns: f64,
        alpha: f64,
    },
    /// Two modes with nothing between them, such as a fast path that some messages miss.
    Bimodal {
        fast_ns: f64,
        slow_ns: f64,
        slow_p: f64,
    },
}

impl Law {
    /// One draw in whole nanoseconds, never negative.
    pub fn draw(&self, random: &mut impl Rng) -> i64 {
        let ns = match *self {
            Law::Constant { ns } => ns,
            Law::Uniform { min_ns, max_ns } => min_ns + random.random::<f64>() * (max_ns - min_ns),
            Law::Normal { mean_ns, sd_ns } => mean_ns + sd_ns * normal(random),
            Law::Lognormal { median_ns, sigma } => median_ns * (sigma * normal(random)).exp(),
            Law::Exponential { offset_ns, mean_ns } => {
                let unit: f64 = Exp1.sample(random);
                offset_ns + (mean_ns - offset_ns) * unit
            }
            Law::Pareto { min_ns, alpha } => {
                min_ns * (1.0 - random.random::<f64>()).powf(-1.0 / alpha)
            }
            Law::Bimodal { fast_ns, slow_ns, slow_p } => match random.random::<f64>() < slow_p {
                true => slow_ns,
                false => fast_ns,
            },
        };
        ns.clamp(0.0, CAP_NS).round() as i64
    }

    pub fn mean_ns(&self) -> f64 {
        match *self {
            Law::Constant { ns } => ns,
            Law::Uniform { min_ns, max_ns } => (min_ns + max_ns) / 2.0,
            Law::Normal { mean_ns, .. } | Law::Exponential { mean_ns, .. } => mean_ns,
            Law::Lognormal { median_ns, sigma } => median_ns * (sigma * sigma / 2.0).exp(),
            Law::Pareto { min_ns, alpha } if alpha > 1.0 => alpha * min_ns / (alpha - 1.0),
            Law::Pareto { .. } => f64::INFINITY,
            Law::Bimodal { fast_ns, slow_ns, slow_p } => fast_ns + slow_p * (slow_ns - fast_ns),
        }
    }

    /// What is wrong with the parameters; None if nothing is.
    pub fn fault(&self) -> Option<&'static str> {
        let good = match *self {
            Law::Constant { ns } => ns >= 0.0,
            Law::Uniform { min_ns, max_ns } => min_ns >= 0.0 && max_ns >= min_ns,
            Law::Normal { mean_ns, sd_ns } => mean_ns >= 0.0 && sd_ns >= 0.0,
            Law::Lognormal { median_ns, sigma } => median_ns > 0.0 && sigma >= 0.0,
            Law::Exponential { offset_ns, mean_ns } => offset_ns >= 0.0 && mean_ns >= offset_ns,
            Law::Pareto { min_ns, alpha } => min_ns > 0.0 && alpha > 0.0,
            Law::Bimodal { fast_ns, slow_ns, slow_p } => {
                fast_ns >= 0.0 && slow_ns >= fast_ns && (0.0..=1.0).contains(&slow_p)
            }
        };
        (!good).then_some(
            "expected non-negative times, max_ns >= min_ns, mean_ns >= offset_ns, slow_ns >= fast_ns, alpha > 0, slow_p from 0 to 1",
        )
    }
}

fn normal(random: &mut impl Rng) -> f64 {
    StandardNormal.sample(random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Quantiles of the standard normal law at 0.5, 0.9 and 0.99.
    const Z: [f64; 3] = [0.0, 1.281_551_565_5, 2.326_347_874];
    const Q: [f64; 3] = [0.5, 0.9, 0.99];

    #[test]
    fn draws_follow_the_documented_formulas() {
        type Formula = fn(usize) -> f64;
        let laws: [(Law, Formula); 7] = [
            (Law::Constant { ns: 5e5 }, |_| 5e5),
            (Law::Uniform { min_ns: 1e5, max_ns: 3e5 }, |i| 1e5 + Q[i] * 2e5),
            (Law::Normal { mean_ns: 1e6, sd_ns: 2e5 }, |i| 1e6 + 2e5 * Z[i]),
            (Law::Lognormal { median_ns: 3e5, sigma: 0.5 }, |i| 3e5 * (0.5 * Z[i]).exp()),
            (Law::Exponential { offset_ns: 1e5, mean_ns: 4e5 }, |i| 1e5 - 3e5 * (1.0 - Q[i]).ln()),
            (Law::Pareto { min_ns: 1e5, alpha: 2.5 }, |i| 1e5 * (1.0 - Q[i]).powf(-1.0 / 2.5)),
            (Law::Bimodal { fast_ns: 1e5, slow_ns: 4e5, slow_p: 0.25 }, |i| [1e5, 4e5, 4e5][i]),
        ];
        for (law, quantile) in laws {
            let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(3);
            let mut draws: Vec<i64> = (0..200_000).map(|_| law.draw(&mut random)).collect();
            let mean = draws.iter().sum::<i64>() as f64 / draws.len() as f64;
            assert!((mean / law.mean_ns() - 1.0).abs() < 0.01, "{law:?}: mean {mean}");
            draws.sort_unstable();
            for (i, q) in Q.iter().enumerate() {
                let drawn = draws[(q * draws.len() as f64) as usize] as f64;
                assert!(
                    (drawn / quantile(i) - 1.0).abs() < 0.02,
                    "{law:?}: quantile {q} is {drawn}, formula {}",
                    quantile(i)
                );
            }
        }
    }
}
