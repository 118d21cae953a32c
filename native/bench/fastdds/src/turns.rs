//! Both paths in one process, taking turns: what disturbs the one disturbs the other.
//!
//! A turn sends a batch at a fixed rate and waits for its last message; CPU is the whole process's, latency from the call to the take.
//! Which path goes first changes from pair to pair, and which is created first from round to round: where buffers happen to lie in
//! memory makes a difference of its own for large messages.

use rmwbench_harness::clock::{now_ns, process_cpu_ns, remove_timer_slack, sleep_until};

use crate::bare::Bare;
use crate::ours::Ours;
use crate::ratio;

struct Load {
    payload_bytes: u32,
    period_ns: i64,
    batch: usize,
    /// Of one round.
    pairs: usize,
}

/// The sizes of the three workloads, at rates that leave time between messages.
const LOADS: [Load; 3] = [
    Load { payload_bytes: 320, period_ns: 400_000, batch: 100, pairs: 10 },
    Load { payload_bytes: 524_288, period_ns: 3_000_000, batch: 100, pairs: 6 },
    Load { payload_bytes: 6_220_800, period_ns: 20_000_000, batch: 20, pairs: 6 },
];
const ROUNDS: usize = 5;
/// Pairs of a round before the first that counts: caches, pools that grow, the first retransmission.
const WARM_UP_PAIRS: usize = 1;
const DOMAINS: (u32, u32) = (1, 2);

#[derive(Default)]
struct Path {
    cpu_per_message_ns: Vec<f64>,
    p50_ns: Vec<f64>,
}

pub fn run() -> Result<(), String> {
    for load in &LOADS {
        let (mut ours, mut bare) = (Path::default(), Path::default());
        for number in 0..ROUNDS {
            round(load, number, &mut ours, &mut bare)?;
        }
        let what = "our worker's path / bare C++ program";
        println!("{}", ratio::line(what, load.payload_bytes, "cpu_per_message_ns", &ours.cpu_per_message_ns, &bare.cpu_per_message_ns));
        println!("{}", ratio::line(what, load.payload_bytes, "latency_p50_ns", &ours.p50_ns, &bare.p50_ns));
    }
    Ok(())
}

fn round(load: &Load, number: usize, our_path: &mut Path, bare_path: &mut Path) -> Result<(), String> {
    let capacity = load.batch * (load.pairs + WARM_UP_PAIRS);
    let topic = format!("bench{}_{number}", load.payload_bytes);
    let make_ours = || Ours::new(DOMAINS.0, &topic, load.payload_bytes, capacity).map_err(|e| e.to_string());
    let make_bare = || Bare::new(DOMAINS.1, &topic, load.payload_bytes, capacity);
    // In the first round ours comes first also because its session loads the profile that the bare program uses.
    let (mut ours, mut bare) = if number.is_multiple_of(2) {
        let ours = make_ours()?;
        (ours, make_bare()?)
    } else {
        let bare = make_bare()?;
        (make_ours()?, bare)
    };
    let give_up_ns = now_ns() + 20_000_000_000;
    while !(ours.matched() && bare.matched()) {
        if now_ns() > give_up_ns {
            return Err("not matched within 20 s".into());
        }
        sleep_until(now_ns() + 1_000_000);
    }
    // As in the worker: only now, for slack is inherited by the threads that Fast DDS makes.
    remove_timer_slack();
    for pair in 0..load.pairs + WARM_UP_PAIRS {
        for ours_now in [pair % 2 == 0, pair % 2 == 1] {
            let cpu_ns = if ours_now {
                turn(load, &mut ours, Ours::send, Ours::all_received)
            } else {
                turn(load, &mut bare, |bare, _| bare.send(), Bare::all_received)
            };
            if pair >= WARM_UP_PAIRS {
                (if ours_now { &mut *our_path } else { &mut *bare_path }).cpu_per_message_ns.push(cpu_ns / load.batch as f64);
            }
        }
    }
    restore_timer_slack();
    if bare.corrupt() {
        return Err("the bare program read what it had not written".into());
    }
    our_path.p50_ns.extend(medians(load, &ours.latencies_ns()));
    bare_path.p50_ns.extend(medians(load, &bare.latencies_ns()));
    Ok(())
}

/// For the threads of the next round.
fn restore_timer_slack() {
    // SAFETY: takes one integer; 0 stands for the default.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 0_u64, 0, 0, 0) };
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
    // With keep_last a busy machine may lose messages, never the last one.
    let give_up_ns = now_ns() + 2_000_000_000;
    while !all_received(path) && now_ns() < give_up_ns {
        sleep_until(now_ns() + 100_000);
    }
    (process_cpu_ns() - before_ns) as f64
}

/// The median of each batch after the warm-up.
fn medians(load: &Load, latencies_ns: &[f64]) -> Vec<f64> {
    latencies_ns.chunks(load.batch).skip(WARM_UP_PAIRS).map(ratio::median).collect()
}
