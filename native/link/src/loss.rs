//! Decides which frames are lost. The random number is drawn when a frame arrives (the k-th frame
//! gets the k-th draw, whatever the queue does), and compared when the frame has crossed, because a
//! loss that is a function of time depends on the time on the wire.

use crate::random::{stream, uniform, Stream};
use crate::spec::Loss;

/// The draws for one frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Draw {
    value: f64,
    /// The probability of loss in the state at this frame; None if the state is a function of time.
    p: Option<f64>,
}

pub struct LossModel {
    loss: Option<Loss>,
    frames: Stream,
    states: Stream,
    /// For a law in time: how many laws began before, and the stream of the present law. Each law
    /// has its own stream, so that it does not depend on how far the law before had come.
    begun: u64,
    times: Stream,
    seed: u64,
    place: String,
    bad: bool,
    /// Gilbert–Elliott in time: the present state ends at this time.
    until_ns: i64,
}

impl LossModel {
    pub fn new(seed: u64, place: &str, loss: Option<Loss>, begin_ns: i64) -> LossModel {
        let of = |effect: &str| stream(seed, place, effect);
        let (frames, states, times) = (of("loss"), of("loss state"), of("loss in time 0"));
        let place = place.to_string();
        let mut model = LossModel {
            loss: None,
            frames,
            states,
            begun: 0,
            times,
            seed,
            place,
            bad: false,
            until_ns: begin_ns,
        };
        model.set(loss, begin_ns);
        model
    }

    /// Sets another law from now on; the streams continue.
    pub fn set(&mut self, loss: Option<Loss>, now_ns: i64) {
        if self.loss != loss {
            self.loss = loss;
            self.begin(now_ns);
        }
    }

    /// A law in time begins anew; the k-th frame still gets the k-th draw.
    pub fn restart(&mut self, now_ns: i64) {
        if matches!(self.loss, Some(Loss::GilbertElliottTime { .. })) {
            self.begin(now_ns);
        }
    }

    /// Begins in the middle of the process and not at the beginning of a good period: the state is
    /// drawn from the stationary distribution, and since stays are exponential, so is the rest of
    /// the present stay. A window therefore has the law's mean wherever it begins.
    fn begin(&mut self, now_ns: i64) {
        let bad_share = match self.loss {
            Some(Loss::GilbertElliott { p, r, .. }) if p + r > 0.0 => p / (p + r),
            Some(Loss::GilbertElliottTime { good_ns, bad_ns, .. }) => {
                bad_ns as f64 / (good_ns + bad_ns) as f64
            }
            _ => 0.0,
        };
        self.times = stream(self.seed, &self.place, &format!("loss in time {}", self.begun));
        self.begun += 1;
        self.bad = uniform(&mut self.times) < bad_share;
        if let Some(Loss::GilbertElliottTime { good_ns, bad_ns, .. }) = self.loss {
            self.until_ns = now_ns + self.stay_ns(if self.bad { bad_ns } else { good_ns });
        }
    }

    pub fn draw(&mut self) -> Draw {
        // Both streams advance for every frame, whatever the law: after a change the k-th frame
        // still gets the k-th draw.
        let value = uniform(&mut self.frames);
        let in_time = matches!(self.loss, Some(Loss::GilbertElliottTime { .. }));
        let turn = if in_time { 0.0 } else { uniform(&mut self.states) };
        let p = match self.loss {
            None => Some(0.0),
            Some(Loss::Bernoulli { p }) => Some(p),
            Some(Loss::GilbertElliott { p, r, good, bad }) => {
                let chance = if self.bad { bad } else { good };
                self.bad = if self.bad { turn >= r } else { turn < p };
                Some(chance)
            }
            Some(Loss::GilbertElliottTime { .. }) => None,
        };
        Draw { value, p }
    }

    /// Whether the frame with this draw is lost at this time; the times must not decrease. The loss
    /// of a trace replaces that of the law.
    pub fn lost(&mut self, draw: Draw, at_ns: i64, traced: Option<f64>) -> bool {
        let p = traced.or(draw.p).unwrap_or_else(|| self.chance_at(at_ns));
        draw.value < p
    }

    fn chance_at(&mut self, at_ns: i64) -> f64 {
        let Some(Loss::GilbertElliottTime { good_ns, bad_ns, good, bad }) = self.loss else {
            return 0.0;
        };
        while at_ns >= self.until_ns {
            self.bad = !self.bad;
            self.until_ns += self.stay_ns(if self.bad { bad_ns } else { good_ns });
        }
        if self.bad {
            bad
        } else {
            good
        }
    }

    /// An exponential stay of at least 1 ns, so that time advances.
    fn stay_ns(&mut self, mean_ns: i64) -> i64 {
        (-(1.0 - uniform(&mut self.times)).ln() * mean_ns as f64).max(1.0) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(seed: u64, loss: Loss, count: usize, every_ns: i64) -> Vec<bool> {
        let mut model = LossModel::new(seed, "a.up", Some(loss), 0);
        (0..count as i64)
            .map(|k| {
                let draw = model.draw();
                model.lost(draw, k * every_ns, None)
            })
            .collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    /// The lengths of the runs of losses.
    fn bursts(lost: &[bool]) -> Vec<usize> {
        lost.split(|lost| !lost).map(<[bool]>::len).filter(|length| *length > 0).collect()
    }

    #[test]
    fn bernoulli_is_independent_and_within_its_binomial_interval() {
        for (seed, p) in [(1, 0.01), (2, 0.1), (3, 0.4)] {
            let lost = losses(seed, Loss::Bernoulli { p }, 100_000, 1);
            let sigma = (p * (1.0 - p) / 1e5).sqrt();
            assert!((share(&lost) - p).abs() < 3.5 * sigma, "{p}: {}", share(&lost));
            let after: Vec<bool> =
                lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
            assert!(
                (share(&after) - p).abs() < 4.0 * (p * (1.0 - p) / after.len() as f64).sqrt(),
                "{p}: {} behind a loss",
                share(&after)
            );
        }
    }

    #[test]
    fn gilbert_elliott_has_its_mean_and_its_bursts() {
        // The stationary loss is p/(p+r) = 2.44 %, the mean burst 1/r = 5 (geometric).
        let lost =
            losses(4, Loss::GilbertElliott { p: 0.005, r: 0.2, good: 0.0, bad: 1.0 }, 100_000, 1);
        let bursts = bursts(&lost);
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        assert!((share(&lost) - 0.0244).abs() < 0.004, "{}", share(&lost));
        assert!((mean - 5.0).abs() < 0.8 && bursts.iter().any(|length| *length > 12), "{mean}");
        // With loss in both states the mean is that of the mixture.
        let lost =
            losses(5, Loss::GilbertElliott { p: 0.1, r: 0.1, good: 0.1, bad: 0.5 }, 100_000, 1);
        assert!((share(&lost) - 0.3).abs() < 0.012, "{}", share(&lost));
    }

    #[test]
    fn in_time_the_state_depends_on_the_instant_alone() {
        let law = || Loss::GilbertElliottTime {
            good_ns: 80_000_000,
            bad_ns: 20_000_000,
            good: 0.0,
            bad: 1.0,
        };
        let often = losses(6, law(), 1_000_000, 100_000); // 100 s, every 0.1 ms
        let seldom = losses(6, law(), 100_000, 1_000_000);
        assert!((share(&often) - 0.2).abs() < 0.03, "{}", share(&often));
        // A tenth of the frames sees the same outages.
        assert!(seldom.iter().enumerate().all(|(k, lost)| *lost == often[k * 10]));
        let bursts = bursts(&often);
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        assert!((mean - 200.0).abs() < 30.0, "{mean}");
    }

    #[test]
    fn a_window_has_the_mean_of_its_law_wherever_it_begins() {
        // The state is bad for a fifth of the time; each of 4000 links is examined at its very
        // beginning, a little later, and after a restart.
        let in_time = || Loss::GilbertElliottTime {
            good_ns: 80_000_000,
            bad_ns: 20_000_000,
            good: 0.0,
            bad: 1.0,
        };
        let per_frame = || Loss::GilbertElliott { p: 0.01, r: 0.04, good: 0.0, bad: 1.0 };
        let sigma = (0.2_f64 * 0.8 / 4000.0).sqrt();
        for (law, restarted) in [(in_time(), true), (per_frame(), false)] {
            let mut bad = [0; 4];
            for seed in 0..4000 {
                let mut model = LossModel::new(seed, "a.up", Some(law.clone()), 0);
                for (place, at_ns) in [0, 5_000_000, 10_000_000, 10_000_001].into_iter().enumerate()
                {
                    if place == 2 {
                        model.restart(at_ns);
                    }
                    let draw = model.draw();
                    bad[place] += u32::from(model.lost(draw, at_ns, None));
                }
            }
            for count in &bad[..if restarted { 4 } else { 2 }] {
                let share = f64::from(*count) / 4000.0;
                assert!((share - 0.2).abs() < 4.0 * sigma, "{law:?}: {bad:?}");
            }
        }
    }

    #[test]
    fn a_restart_meets_the_same_outages_whenever_it_comes_and_whatever_came_before() {
        let law =
            Loss::GilbertElliottTime { good_ns: 8_000_000, bad_ns: 2_000_000, good: 0.0, bad: 1.0 };
        let behind = |begin_ns: i64, before: usize| {
            let mut model = LossModel::new(5, "a.up", Some(law.clone()), 0);
            for k in 0..before as i64 {
                let draw = model.draw();
                model.lost(draw, k * 1_000_000, None);
            }
            model.restart(begin_ns);
            let mut draws = (0..1000).map(|_| model.draw()).collect::<Vec<_>>().into_iter();
            (0..1000)
                .map(|k| model.lost(draws.next().unwrap(), begin_ns + k * 100_000, None))
                .collect::<Vec<bool>>()
        };
        let one = behind(1_000_000_000, 10);
        assert!(one == behind(3_333_000_000, 900) && one.contains(&true) && one.contains(&false));
        // Another seed gives another sequence of losses.
        assert_ne!(one, losses(5, law.clone(), 1000, 100_000));
    }

    #[test]
    fn the_same_seed_loses_the_same_frames() {
        let one = losses(7, Loss::Bernoulli { p: 0.1 }, 1000, 1);
        assert_eq!(one, losses(7, Loss::Bernoulli { p: 0.1 }, 1000, 1));
        assert_ne!(one, losses(8, Loss::Bernoulli { p: 0.1 }, 1000, 1));
        // More loss loses the same frames and further ones: candidates at two levels stay
        // comparable.
        assert!(one
            .iter()
            .zip(losses(7, Loss::Bernoulli { p: 0.2 }, 1000, 1))
            .all(|(few, many)| !few || many));
    }
}
