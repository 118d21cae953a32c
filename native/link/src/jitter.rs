//! Delay that varies. If it is drawn independently per frame, it reorders frames; keeping their
//! order would shift the mean and shrink the spread. So jitter with order is a process in time,
//! x(t + d) = φ·x(t) + √(1 − φ²)·N(0, sd), φ = exp(−d / correlation), the exact discretisation of an
//! Ornstein–Uhlenbeck process (Gillespie 1996, Phys. Rev. E 54, 2084).

use rand_distr::{Distribution, StandardNormal};

use crate::random::{stream, Stream};
use crate::spec::Jitter;

pub struct JitterModel {
    jitter: Option<Jitter>,
    stream: Stream,
    /// The state has unit spread, so that it does not jump when the spread is changed; None before
    /// the first frame.
    state: Option<(f64, i64)>,
}

impl JitterModel {
    pub fn new(seed: u64, place: &str, jitter: Option<Jitter>) -> JitterModel {
        JitterModel { jitter, stream: stream(seed, place, "jitter"), state: None }
    }

    pub fn set(&mut self, jitter: Option<Jitter>) {
        self.jitter = jitter;
    }

    /// A standard normal draw; one is drawn for every frame, whatever the law.
    pub fn draw(&mut self) -> f64 {
        StandardNormal.sample(&mut self.stream)
    }

    /// The time added to the delay of the frame that has this draw and crosses at this time; it may
    /// be negative.
    pub fn offset_ns(&mut self, draw: f64, at_ns: i64) -> i64 {
        match self.jitter {
            None => 0,
            Some(Jitter::Independent { sd_ns }) => (draw * sd_ns as f64).round() as i64,
            Some(Jitter::Correlated { sd_ns, correlation_ns }) => {
                let x = match self.state {
                    None => draw,
                    Some((x, before_ns)) => {
                        let phi = (-((at_ns - before_ns) as f64) / correlation_ns as f64).exp();
                        phi * x + (1.0 - phi * phi).sqrt() * draw
                    }
                };
                self.state = Some((x, at_ns));
                (x * sd_ns as f64).round() as i64
            }
        }
    }

    /// Whether frames may overtake each other.
    pub fn overtakes(&self) -> bool {
        matches!(self.jitter, Some(Jitter::Independent { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(jitter: Jitter, count: i64, every_ns: i64) -> Vec<f64> {
        let mut model = JitterModel::new(1, "a.up", Some(jitter));
        (0..count)
            .map(|k| {
                let draw = model.draw();
                model.offset_ns(draw, k * every_ns) as f64
            })
            .collect()
    }

    fn moments(values: &[f64], lag: usize) -> (f64, f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let together =
            values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
                / (n - lag as f64);
        (mean, variance.sqrt(), together / variance)
    }

    #[test]
    fn correlated_jitter_has_its_spread_and_its_correlation_at_any_rate() {
        let law = || Jitter::Correlated { sd_ns: 2_000_000, correlation_ns: 10_000_000 };
        // The correlation over one correlation time is 1/e, however many frames are in between.
        for (every_ns, lag) in [(1_000_000, 10), (10_000_000, 1)] {
            let (mean, sd, correlation) = moments(&offsets(law(), 100_000, every_ns), lag);
            assert!(mean.abs() < 100_000.0 && (sd / 2e6 - 1.0).abs() < 0.05, "{mean} {sd}");
            assert!((correlation - (-1.0_f64).exp()).abs() < 0.04, "{correlation}");
        }
    }

    #[test]
    fn independent_jitter_is_normal_and_uncorrelated() {
        let (mean, sd, correlation) =
            moments(&offsets(Jitter::Independent { sd_ns: 2_000_000 }, 50_000, 1), 1);
        assert!(
            mean.abs() < 40_000.0 && (sd / 2e6 - 1.0).abs() < 0.02 && correlation.abs() < 0.02,
            "{mean} {sd} {correlation}"
        );
    }
}
