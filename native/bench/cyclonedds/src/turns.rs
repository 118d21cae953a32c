//! Both paths in one process, taking turns: what disturbs the one disturbs the other.
//!
//! Each turn sends a batch at a fixed rate and waits for its last message; CPU is the whole process's, latency from the call to
//! the take. The order within a pair changes, so that a drift favours neither; so does, from round to round, which path is created
//! first: the same program twice, created once, differs by up to 4 % at 512 KiB, by where its buffers happen to lie.

use rmwbench_harness::clock::{now_ns, process_cpu_ns, remove_timer_slack, sleep_until};

use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::middleware::Middleware;

use crate::bare::Bare;
use crate::network::{session, READING, WRITING};
use crate::ours::Ours;
use crate::ratio;

struct Load {
    payload_bytes: u32,
    period_ns: i64,
    batch: usize,
    pairs: usize,
}

/// The three workloads' sizes at rates that leave time between messages; `pairs` are those of one round.
const LOADS: [Load; 3] = [
    Load { payload_bytes: 320, period_ns: 300_000, batch: 100, pairs: 15 },
    Load { payload_bytes: 524_288, period_ns: 2_000_000, batch: 100, pairs: 5 },
    Load { payload_bytes: 6_220_800, period_ns: 16_000_000, batch: 20, pairs: 5 },
];
const ROUNDS: usize = 4;
/// Turns of a round before the first that counts: caches, allocator, the first retransmission.
const WARM_UP_PAIRS: usize = 1;

/// CPU per message and median latency of each batch, in nanoseconds.
#[derive(Default)]
struct Path {
    cpu_ns: Vec<f64>,
    p50_ns: Vec<f64>,
}

pub fn run() -> Result<(), String> {
    remove_timer_slack();
    // The bare program joins domains that exist; these sessions keep them.
    let open = |domain| CycloneDds.open(&session(domain, 0)).map_err(|e| e.to_string());
    let _domains = (open(WRITING)?, open(READING)?);
    for load in &LOADS {
        let (mut ours, mut bare) = (Path::default(), Path::default());
        for number in 0..ROUNDS {
            round(load, number % 2 == 0, &mut ours, &mut bare)?;
        }
        let what = "our worker's path / bare C API";
        println!("{}", ratio::line(what, load.payload_bytes, "cpu_per_message_ns", &ours.cpu_ns, &bare.cpu_ns));
        println!("{}", ratio::line(what, load.payload_bytes, "latency_p50_ns", &ours.p50_ns, &bare.p50_ns));
    }
    Ok(())
}

fn round(load: &Load, ours_first: bool, our_path: &mut Path, bare_path: &mut Path) -> Result<(), String> {
    let messages = load.batch * (load.pairs + WARM_UP_PAIRS);
    let make_ours = || Ours::new(load.payload_bytes, messages as u64).map_err(|e| e.to_string());
    let make_bare = || Bare::new(load.payload_bytes, messages);
    let (mut ours, mut bare) = if ours_first {
        let ours = make_ours()?;
        (ours, make_bare()?)
    } else {
        let bare = make_bare()?;
        (make_ours()?, bare)
    };
    if !ours.ready() || !bare.ready() {
        return Err("not matched within 10 s".into());
    }
    for pair in 0..load.pairs + WARM_UP_PAIRS {
        for ours_now in [pair % 2 == 0, pair % 2 == 1] {
            let cpu_ns = if ours_now {
                turn(load, &mut ours, Ours::send, Ours::all_received)
            } else {
                turn(load, &mut bare, |bare, _| bare.send(), Bare::all_received)
            };
            if pair >= WARM_UP_PAIRS {
                (if ours_now { &mut *our_path } else { &mut *bare_path }).cpu_ns.push(cpu_ns / load.batch as f64);
            }
        }
    }
    if bare.corrupt() {
        return Err("the bare program read a payload that it had not written".into());
    }
    our_path.p50_ns.extend(medians(load, &ours.latencies_ns()));
    bare_path.p50_ns.extend(medians(load, &bare.latencies_ns()));
    Ok(())
}

/// CPU of the process over one batch, in nanoseconds.
fn turn<P>(load: &Load, path: &mut P, send: impl Fn(&mut P, i64), all_received: impl Fn(&P) -> bool) -> f64 {
    let before_ns = process_cpu_ns();
    let begin_ns = now_ns();
    for k in 0..load.batch as i64 {
        let due_ns = begin_ns + k * load.period_ns;
        sleep_until(due_ns);
        send(path, due_ns);
    }
    // Keep-last 10 may drop messages on a busy machine; the last one always comes.
    let give_up_ns = now_ns() + 2_000_000_000;
    while !all_received(path) && now_ns() < give_up_ns {
        sleep_until(now_ns() + 100_000);
    }
    (process_cpu_ns() - before_ns) as f64
}

/// The median of each batch; a message that never arrived counts as later than all others.
fn medians(load: &Load, latencies_ns: &[Option<f64>]) -> Vec<f64> {
    latencies_ns
        .chunks(load.batch)
        .skip(WARM_UP_PAIRS)
        .map(|batch| ratio::median(&batch.iter().map(|l| l.unwrap_or(f64::INFINITY)).collect::<Vec<_>>()))
        .collect()
}
