//! The fate of a message: a pure function of settings, trial, writer and sequence number.
//!
//! The trial enters by its nonce, so that trials of one arm are draws from one law and not copies
//! of each other: properties of a law over trials can then be tested over trials.
//!
//! Each message has its own place in the writer's ChaCha8 stream, so that its draws do not depend
//! on other messages. Only burst loss depends on earlier messages; it is a chain over the sequence
//! numbers from 0.

use std::process::ExitCode;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::settings::{Loss, Settings};

/// How many words of the stream belong to one message; it uses about ten.
const WORDS: u128 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Truth {
    pub seq: u64,
    /// A lost message has no other effect.
    pub lost: bool,
    pub duplicated: bool,
    /// The message is held back for `reorder.by_ns` more; others that come within that time
    /// overtake it.
    pub reordered: bool,
    /// The random number that selects the changed byte.
    pub corrupt: Option<u64>,
    /// The latency drawn from the law, without the additions of `reorder` and `fifo`; None: not
    /// held back.
    pub latency_ns: Option<i64>,
}

/// The fates of one writer's messages in any order; ascending order is the fastest.
pub struct TruthStream<'s> {
    settings: &'s Settings,
    random: ChaCha8Rng,
    chain: Chain,
}

/// The state of burst loss before message `next`.
#[derive(Clone, Copy, Default)]
pub struct Chain {
    next: u64,
    bad: bool,
}

impl<'s> TruthStream<'s> {
    pub fn new(settings: &'s Settings, nonce: u64, writer: u32) -> Self {
        TruthStream::resume(settings, nonce, writer, Chain::default())
    }

    /// Continues from the state that [`TruthStream::chain`] returned.
    pub fn resume(settings: &'s Settings, nonce: u64, writer: u32, chain: Chain) -> Self {
        // The factor is odd, so that no two seeds meet; the generator's own seeding spreads the sum
        // over all its bits.
        let mut random = ChaCha8Rng::seed_from_u64(
            settings.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(nonce),
        );
        random.set_stream(u64::from(writer));
        TruthStream { settings, random, chain }
    }

    pub fn chain(&self) -> Chain {
        self.chain
    }

    pub fn at(&mut self, seq: u64) -> Truth {
        let lost = match self.settings.loss {
            None => false,
            Some(Loss::Bernoulli { p }) => self.loss_draw(seq) < p,
            Some(Loss::Burst { p, r }) => self.is_bad(seq, p, r),
        };
        self.loss_draw(seq); // leaves the stream just after this draw
        let mut hit = |p: f64| self.random.random::<f64>() < p;
        let (duplicated, reordered, corrupt) = (
            hit(self.settings.duplicate),
            hit(self.settings.reorder.map_or(0.0, |r| r.p)),
            hit(self.settings.corrupt),
        );
        let place: u64 = self.random.random();
        let latency_ns = self.settings.latency.map(|law| law.draw(&mut self.random));
        match lost {
            true => Truth {
                seq,
                lost,
                duplicated: false,
                reordered: false,
                corrupt: None,
                latency_ns: None,
            },
            false => Truth {
                seq,
                lost,
                duplicated,
                reordered,
                corrupt: corrupt.then_some(place),
                latency_ns,
            },
        }
    }

    fn loss_draw(&mut self, seq: u64) -> f64 {
        self.random.set_word_pos(u128::from(seq) * WORDS);
        self.random.random()
    }

    fn is_bad(&mut self, seq: u64, p: f64, r: f64) -> bool {
        if seq < self.chain.next {
            self.chain = Chain::default();
        }
        while self.chain.next <= seq {
            let draw = self.loss_draw(self.chain.next);
            self.chain.bad = if self.chain.bad { draw >= r } else { draw < p };
            self.chain.next += 1;
        }
        self.chain.bad
    }
}

/// The fate of one message.
pub fn truth(settings: &Settings, nonce: u64, writer: u32, seq: u64) -> Truth {
    TruthStream::new(settings, nonce, writer).at(seq)
}

/// `--truth SETTINGS WRITER COUNT NONCE [reply]`: the fates of the first messages of a trial, a
/// JSON line each, for tests of the whole pipeline; with `reply`, those of a service's replies. The
/// nonce is written as in the protocol: 16 hexadecimal digits.
pub fn print(arguments: &[String]) -> ExitCode {
    let parsed = || -> Result<(Settings, u64, u32, u64), String> {
        let (settings, writer, count, nonce, of_replies) = match arguments {
            [settings, writer, count, nonce] => (settings, writer, count, nonce, false),
            [settings, writer, count, nonce, reply] if reply == "reply" => {
                (settings, writer, count, nonce, true)
            }
            _ => return Err("usage: --truth SETTINGS_JSON WRITER COUNT NONCE [reply]".into()),
        };
        let map = serde_json::from_str(settings).map_err(|e| format!("settings: {e}"))?;
        let number =
            |what: &str, text: &str| text.parse::<u64>().map_err(|e| format!("{what} {text}: {e}"));
        let writer =
            u32::try_from(number("writer", writer)?).map_err(|e| format!("writer: {e}"))?;
        let nonce = u64::from_str_radix(nonce, 16)
            .map_err(|e| format!("nonce {nonce}: expected hexadecimal digits: {e}"))?;
        let settings = Settings::from_map(map)?;
        let settings = if of_replies { settings.of_replies() } else { settings };
        Ok((settings, nonce, writer, number("count", count)?))
    };
    match parsed() {
        Ok((settings, nonce, writer, count)) => {
            use std::io::Write;
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            let mut stream = TruthStream::new(&settings, nonce, writer);
            for seq in 0..count {
                let line = serde_json::to_string(&stream.at(seq)).expect("plain values serialise");
                if writeln!(out, "{line}").is_err() {
                    return ExitCode::FAILURE;
                }
            }
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;
    use crate::settings::Reorder;

    const NONCE: u64 = 0x1234_5678_9abc_def0;

    fn settings() -> Settings {
        Settings {
            latency: Some(Law::Pareto { min_ns: 1000.0, alpha: 1.5 }),
            loss: Some(Loss::Burst { p: 0.02, r: 0.25 }),
            duplicate: 0.05,
            reorder: Some(Reorder { p: 0.1, by_ns: 5 }),
            corrupt: 0.01,
            ..Settings::default()
        }
    }

    #[test]
    fn a_message_has_the_same_truth_whoever_asks_and_when() {
        let s = settings();
        let mut stream = TruthStream::new(&s, NONCE, 9);
        let forward: Vec<Truth> = (0..500).map(|seq| stream.at(seq)).collect();
        for seq in (0..500).rev().step_by(37) {
            assert_eq!(truth(&s, NONCE, 9, seq as u64), forward[seq]);
            assert_eq!(stream.at(seq as u64), forward[seq]);
        }
        let other_writer: Vec<Truth> = (0..500).map(|seq| truth(&s, NONCE, 10, seq)).collect();
        let other_seed = Settings { seed: 2, ..s.clone() };
        assert_ne!(forward, other_writer);
        assert_ne!(
            forward,
            (0..500).map(|seq| truth(&other_seed, NONCE, 9, seq)).collect::<Vec<_>>()
        );
        assert_ne!(
            forward,
            (0..500).map(|seq| truth(&s, NONCE + 1, 9, seq)).collect::<Vec<_>>(),
            "another trial, other draws"
        );
        // Switching one effect off changes nothing else.
        let lossless = Settings { loss: None, ..s.clone() };
        for t in forward.iter().filter(|t| !t.lost) {
            assert_eq!(truth(&lossless, NONCE, 9, t.seq), *t);
        }
    }

    #[test]
    fn rates_and_bursts_follow_the_formulas() {
        let s = settings();
        let mut stream = TruthStream::new(&s, NONCE, 1);
        let n = 100_000;
        let all: Vec<Truth> = (0..n).map(|seq| stream.at(seq)).collect();
        let lost = all.iter().filter(|t| t.lost).count() as f64;
        let bursts = all.windows(2).filter(|w| !w[0].lost && w[1].lost).count() as f64;
        assert!(
            (lost / n as f64 / (0.02 / 0.27) - 1.0).abs() < 0.1,
            "loss rate {}",
            lost / n as f64
        );
        assert!((lost / bursts / 4.0 - 1.0).abs() < 0.1, "burst length {}", lost / bursts);
        let delivered = n as f64 - lost;
        for (what, count, p) in [
            ("duplicates", all.iter().filter(|t| t.duplicated).count(), 0.05),
            ("reorders", all.iter().filter(|t| t.reordered).count(), 0.1),
            ("corruptions", all.iter().filter(|t| t.corrupt.is_some()).count(), 0.01),
        ] {
            assert!((count as f64 / delivered / p - 1.0).abs() < 0.15, "{what}: {count}");
        }
    }
}
