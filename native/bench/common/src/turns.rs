//! Two paths in one process that take turns: a disturbance of one also disturbs the other.
//!
//! A turn sends a batch at a fixed rate and waits for its last message. CPU is that of the whole
//! process, latency is from the publish call to the take. The path that goes first alternates
//! within the pairs, and the one that is created first alternates between rounds, because the
//! placement of its buffers changes either result by some per cent.

use rmwbench_harness::clock::{now_ns, process_cpu_ns, remove_timer_slack, sleep_until};
use serde_json::json;

use crate::line::{print, Limit, Line};
use crate::ratio;

/// One of the two programs that are compared.
pub trait Path {
    /// Whether both ends have matched.
    fn matched(&mut self) -> bool;
    fn send(&mut self, due_ns: i64);
    /// Whether the last message sent has been taken.
    fn all_received(&self) -> bool;
    /// The latency of each sent message, in order; None for one that never arrived.
    fn latencies_ns(&self) -> Vec<Option<f64>>;
    /// Whether every payload read was the one written.
    fn intact(&self) -> bool;
}

#[derive(Clone, Copy)]
pub struct Load {
    pub payload_bytes: u32,
    pub period_ns: i64,
    pub batch: usize,
    /// The number of pairs of turns in one round.
    pub pairs: usize,
    pub rounds: usize,
}

/// The sizes of the three robot workloads, at rates that leave time between messages.
pub const LOADS: [Load; 3] = [
    Load { payload_bytes: 320, period_ns: 300_000, batch: 100, pairs: 15, rounds: 4 },
    Load { payload_bytes: 524_288, period_ns: 2_000_000, batch: 100, pairs: 5, rounds: 4 },
    Load { payload_bytes: 6_220_800, period_ns: 16_000_000, batch: 20, pairs: 5, rounds: 4 },
];
/// The number of pairs that do not count: first touch of pools, caches, mappings, the first
/// retransmission.
const WARM_UP_PAIRS: usize = 1;
const MATCH_NS: i64 = if cfg!(test) { 20_000_000 } else { 20_000_000_000 };
/// The most rounds of a load whose ends did not match; they are left out and counted. With more,
/// the path does not work here.
const MOST_UNMATCHED: usize = 3;

/// Both paths are created again for each round.
#[derive(Clone, Copy)]
pub struct Round {
    pub load: Load,
    pub number: usize,
}

impl Round {
    /// The most messages that one path sends.
    pub fn messages(&self) -> usize {
        self.load.batch * (self.load.pairs + WARM_UP_PAIRS)
    }

    /// A name for topics: no round uses one that another round left.
    pub fn name(&self) -> String {
        format!("{}_{}", self.load.payload_bytes, self.number)
    }
}

type Make<'a> = dyn Fn(&Round) -> Result<Box<dyn Path>, String> + 'a;

/// Two paths, and how the lines describe them.
pub struct Compared<'a> {
    pub bench: &'a str,
    /// `OURS / THEIRS`.
    pub name: &'a str,
    /// The promise about each ratio.
    pub limit: Limit,
    pub ours: &'a Make<'a>,
    pub bare: &'a Make<'a>,
}

/// CPU per message and median latency of each batch, in nanoseconds.
#[derive(Default)]
struct Measured {
    cpu_ns: Vec<f64>,
    p50_ns: Vec<f64>,
    lost: usize,
    /// The number of rounds that were left out because this path did not match.
    unmatched: usize,
}

/// Prints for each load a line for CPU per message and one for the median latency, from `times` as
/// many rounds as the load has, and from more while one of the two is open.
pub fn run(compared: &Compared<'_>, loads: &[Load], times: usize) -> Result<(), String> {
    for load in loads {
        let mut measured = [Measured::default(), Measured::default()];
        ratio::until_decided(load.rounds * times, |numbers| {
            for number in numbers {
                let next = Round { load: *load, number };
                round(&next, [compared.ours, compared.bare], &mut measured)?;
            }
            Ok(METRICS.iter().all(|metric| {
                let [ours, bare] = metric.of(&measured);
                metric.line(compared, load).is_decided_by(ours, bare)
            }))
        })?;
        let [ours, bare] = &measured;
        for metric in METRICS {
            let [ours_ns, bare_ns] = metric.of(&measured);
            let mut line = metric.line(compared, load).of_pairs(ours_ns, bare_ns);
            line["details"] = json!({
                "lost": {"ours": ours.lost, "theirs": bare.lost},
                "unmatched_rounds": {"ours": ours.unmatched, "theirs": bare.unmatched},
            });
            print(&line);
        }
    }
    Ok(())
}

/// The quantity that is compared for every load.
#[derive(Clone, Copy)]
enum Metric {
    CpuPerMessage,
    LatencyP50,
}

const METRICS: [Metric; 2] = [Metric::CpuPerMessage, Metric::LatencyP50];

impl Metric {
    /// The values of our path and of the bare program, in nanoseconds, pair by pair.
    fn of(self, measured: &[Measured; 2]) -> [&[f64]; 2] {
        measured.each_ref().map(|one| match self {
            Metric::CpuPerMessage => one.cpu_ns.as_slice(),
            Metric::LatencyP50 => one.p50_ns.as_slice(),
        })
    }

    fn line<'a>(self, compared: &Compared<'a>, load: &Load) -> Line<'a> {
        Line {
            bench: compared.bench,
            name: compared.name,
            message_bytes: load.payload_bytes,
            metric: match self {
                Metric::CpuPerMessage => "cpu_per_message",
                Metric::LatencyP50 => "latency_p50",
            },
            unit: "ns",
            limit: compared.limit,
        }
    }
}

/// Adds the values of both paths in a round, or that one of them did not match. An error if that
/// happens in more than `MOST_UNMATCHED` rounds.
fn round(round: &Round, make: [&Make<'_>; 2], measured: &mut [Measured; 2]) -> Result<(), String> {
    let load = &round.load;
    let order = if round.number.is_multiple_of(2) { [0, 1] } else { [1, 0] };
    let mut new_paths = [None, None];
    for which in order {
        new_paths[which] = Some(make[which](round)?);
    }
    let mut paths = new_paths.map(|path| path.expect("both were made"));
    let give_up_ns = now_ns() + MATCH_NS;
    while let Some(waits) = paths.iter_mut().position(|path| !path.matched()) {
        if now_ns() > give_up_ns {
            measured[waits].unmatched += 1;
            if measured.iter().map(|one| one.unmatched).sum::<usize>() <= MOST_UNMATCHED {
                return Ok(());
            }
            let (who, bytes) =
                (["our worker's path", "the bare program"][waits], load.payload_bytes);
            return Err(format!(
                "{who} is not matched within 20 s: {bytes} B, round {}, as in {MOST_UNMATCHED} before",
                round.number
            ));
        }
        sleep_until(now_ns() + 1_000_000);
    }
    // As in the worker, this comes only now, because the threads that a middleware makes inherit
    // the slack.
    remove_timer_slack();
    for pair in 0..load.pairs + WARM_UP_PAIRS {
        for which in [pair % 2, 1 - pair % 2] {
            let cpu_ns = turn(load, &mut *paths[which]);
            if pair >= WARM_UP_PAIRS {
                measured[which].cpu_ns.push(cpu_ns / load.batch as f64);
            }
        }
    }
    restore_timer_slack();
    for (path, measured) in paths.iter().zip(measured) {
        if !path.intact() {
            return Err("a payload arrived that was not written".into());
        }
        let latencies = path.latencies_ns();
        measured.lost += latencies.iter().filter(|l| l.is_none()).count();
        for batch in latencies.chunks(load.batch).skip(WARM_UP_PAIRS) {
            // A message that never arrived counts as later than all others.
            measured.p50_ns.push(ratio::median(
                &batch.iter().map(|l| l.unwrap_or(f64::INFINITY)).collect::<Vec<_>>(),
            ));
        }
    }
    Ok(())
}

/// Restores the slack for the threads of the next round.
fn restore_timer_slack() {
    // SAFETY: takes one integer; 0 stands for the default.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 0_u64, 0, 0, 0) };
}

/// The CPU time of the process over one batch, in nanoseconds.
fn turn(load: &Load, path: &mut dyn Path) -> f64 {
    let before_ns = process_cpu_ns();
    let begin_ns = now_ns();
    for k in 0..load.batch as i64 {
        let due_ns = begin_ns + k * load.period_ns;
        sleep_until(due_ns);
        path.send(due_ns);
    }
    // Keep-last may drop messages on a busy machine, but never the last one.
    let give_up_ns = now_ns() + 2_000_000_000;
    while !path.all_received() && now_ns() < give_up_ns {
        sleep_until(now_ns() + 100_000);
    }
    (process_cpu_ns() - before_ns) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Loses every message, or has the latency `latency_ns` for each.
    struct Known {
        latency_ns: Option<f64>,
        sent: usize,
        matches: bool,
    }

    impl Path for Known {
        fn matched(&mut self) -> bool {
            self.matches
        }

        fn send(&mut self, _due_ns: i64) {
            self.sent += 1;
        }

        fn all_received(&self) -> bool {
            true
        }

        fn latencies_ns(&self) -> Vec<Option<f64>> {
            vec![self.latency_ns; self.sent]
        }

        fn intact(&self) -> bool {
            true
        }
    }

    #[test]
    fn paths_are_made_in_turn_and_every_batch_but_the_warm_up_counts() {
        let load = Load { payload_bytes: 8, period_ns: 1_000, batch: 4, pairs: 3, rounds: 2 };
        let rounds = RefCell::new(Vec::new());
        let make = |who: &'static str, latency_ns| {
            let rounds = &rounds;
            move |round: &Round| -> Result<Box<dyn Path>, String> {
                assert_eq!(round.messages(), 16);
                rounds.borrow_mut().push((round.name(), who));
                Ok(Box::new(Known { latency_ns, sent: 0, matches: true }))
            }
        };
        let (ours, bare) = (make("ours", Some(30.0)), make("bare", None));
        let mut measured = [Measured::default(), Measured::default()];
        for number in 0..load.rounds {
            round(&Round { load, number }, [&ours, &bare], &mut measured).unwrap();
        }
        let names =
            rounds.borrow().iter().map(|(round, who)| format!("{round} {who}")).collect::<Vec<_>>();
        assert_eq!(names, ["8_0 ours", "8_0 bare", "8_1 bare", "8_1 ours"]);
        let [ours, bare] = &measured;
        assert_eq!(
            (ours.p50_ns.as_slice(), ours.lost, ours.cpu_ns.len()),
            ([30.0; 6].as_slice(), 0, 6)
        );
        assert_eq!((bare.p50_ns.as_slice(), bare.lost), ([f64::INFINITY; 6].as_slice(), 32));
    }

    #[test]
    fn a_round_without_a_match_is_left_out_and_counted_and_the_fourth_is_an_error() {
        let load = Load { payload_bytes: 8, period_ns: 1_000, batch: 4, pairs: 3, rounds: 2 };
        let make = |first_matched: usize| {
            move |round: &Round| -> Result<Box<dyn Path>, String> {
                let matches = round.number >= first_matched;
                Ok(Box::new(Known { latency_ns: Some(30.0), sent: 0, matches }))
            }
        };
        let rounds = |first_matched: usize, count: usize| {
            let mut measured = [Measured::default(), Measured::default()];
            let (ours, bare) = (make(0), make(first_matched));
            (0..count)
                .try_for_each(|number| {
                    round(&Round { load, number }, [&ours, &bare], &mut measured)
                })
                .map(|()| measured)
        };
        let [ours, bare] = rounds(1, 2).unwrap();
        assert_eq!((ours.unmatched, bare.unmatched), (0, 1));
        assert_eq!((ours.p50_ns.len(), bare.p50_ns.len()), (3, 3));
        assert!(rounds(MOST_UNMATCHED, MOST_UNMATCHED).is_ok());
        let error = rounds(9, MOST_UNMATCHED + 1).err().unwrap();
        assert!(error.starts_with("the bare program is not matched"), "{error}");
    }
}
