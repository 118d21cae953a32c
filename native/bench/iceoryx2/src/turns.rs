//! Two paths in one process, taking turns: what disturbs the one disturbs the other.
//!
//! A turn sends a batch at a fixed rate and waits for its last message; CPU is the whole process's, latency from the publish call to
//! the take. Which path goes first alternates within the pairs, and which is created first from round to round, because where its
//! buffers happen to lie is worth some per cent to either.

use rmwbench_harness::clock::{now_ns, process_cpu_ns, remove_timer_slack, sleep_until};
use serde_json::Value;

use crate::ratio::{self, Title};

/// One of the two programs that are compared.
pub trait Path {
    /// Waits until both ends know each other; false after 10 s.
    fn ready(&mut self) -> bool;
    fn send(&mut self, due_ns: i64);
    /// Whether the last message sent has been taken.
    fn all_received(&self) -> bool;
    /// Per message sent, in order; None where it never arrived.
    fn latencies_ns(&self) -> Vec<Option<f64>>;
    /// Whether every payload read was the one written.
    fn intact(&self) -> bool;
}

#[derive(Clone, Copy)]
pub struct Load {
    pub payload_bytes: u32,
    pub period_ns: i64,
    pub batch: usize,
    /// Pairs of turns in one round.
    pub pairs: usize,
}

/// The sizes of the three robot workloads, at rates that leave time between messages.
pub const LOADS: [Load; 3] = [
    Load { payload_bytes: 320, period_ns: 300_000, batch: 100, pairs: 15 },
    Load { payload_bytes: 524_288, period_ns: 2_000_000, batch: 100, pairs: 5 },
    Load { payload_bytes: 6_220_800, period_ns: 16_000_000, batch: 20, pairs: 5 },
];
const ROUNDS: usize = 4;
/// Turns that do not count: first touch of pools, caches, mappings.
const WARM_UP_PAIRS: usize = 1;

/// Makes one of the two paths for a load and a number of messages.
pub type Make<'a> = &'a dyn Fn(&Load, usize) -> Result<Box<dyn Path>, String>;

/// CPU per message and median latency of each batch, in nanoseconds.
#[derive(Default)]
struct Measured {
    cpu_ns: Vec<f64>,
    p50_ns: Vec<f64>,
    lost: usize,
}

/// Runs `load` and returns a line for CPU per message and one for the median latency.
pub fn run(bench: &str, what: &str, load: &Load, ours: Make<'_>, bare: Make<'_>) -> Result<[Value; 2], String> {
    remove_timer_slack();
    let mut measured = [Measured::default(), Measured::default()];
    for number in 0..ROUNDS {
        round(load, number, [ours, bare], &mut measured)?;
    }
    let title = |metric| Title { bench, what, message_bytes: load.payload_bytes, metric };
    let [ours, bare] = &measured;
    let mut lines = [
        ratio::line(&title("cpu_per_message_ns"), &ours.cpu_ns, &bare.cpu_ns),
        ratio::line(&title("latency_p50_ns"), &ours.p50_ns, &bare.p50_ns),
    ];
    for line in &mut lines {
        line["lost"] = serde_json::json!([ours.lost, bare.lost]);
    }
    Ok(lines)
}

fn round(load: &Load, number: usize, make: [Make<'_>; 2], measured: &mut [Measured; 2]) -> Result<(), String> {
    let messages = load.batch * (load.pairs + WARM_UP_PAIRS);
    let order = if number.is_multiple_of(2) { [0, 1] } else { [1, 0] };
    let mut made = [None, None];
    for which in order {
        made[which] = Some(make[which](load, messages)?);
    }
    let mut paths = made.map(|path| path.expect("both were made"));
    if !paths.iter_mut().all(|path| path.ready()) {
        return Err("not matched within 10 s".into());
    }
    for pair in 0..load.pairs + WARM_UP_PAIRS {
        for which in [pair % 2, 1 - pair % 2] {
            let cpu_ns = turn(load, &mut *paths[which]);
            if pair >= WARM_UP_PAIRS {
                measured[which].cpu_ns.push(cpu_ns / load.batch as f64);
            }
        }
    }
    for (path, measured) in paths.iter().zip(measured) {
        if !path.intact() {
            return Err("a payload arrived that was not written".into());
        }
        let latencies = path.latencies_ns();
        measured.lost += latencies.iter().filter(|l| l.is_none()).count();
        for batch in latencies.chunks(load.batch).skip(WARM_UP_PAIRS) {
            // A message that never arrived is later than all others.
            measured.p50_ns.push(ratio::median(&batch.iter().map(|l| l.unwrap_or(f64::INFINITY)).collect::<Vec<_>>()));
        }
    }
    Ok(())
}

/// CPU of the process over one batch, in nanoseconds.
fn turn(load: &Load, path: &mut dyn Path) -> f64 {
    let before_ns = process_cpu_ns();
    let begin_ns = now_ns();
    for k in 0..load.batch as i64 {
        let due_ns = begin_ns + k * load.period_ns;
        sleep_until(due_ns);
        path.send(due_ns);
    }
    let give_up_ns = now_ns() + 2_000_000_000;
    while !path.all_received() && now_ns() < give_up_ns {
        sleep_until(now_ns() + 100_000);
    }
    (process_cpu_ns() - before_ns) as f64
}
