//! The floor against the bare program: round trips of 64 bytes between two processes, taking turns
//! every 100 messages.
//!
//! All run in the floor's own waiting threads: after 100 round trips over the floor, the sink does
//! 100 over the bare mailbox, and 100 more with four clock reads each, before it returns. So the
//! same two threads on the same two cores do all of it, and no other thread spins.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;

use rmwbench_bench::{print, ratio, Limit, Line};
use rmwbench_floor::Floor;
use rmwbench_harness::clock::{now_ns, sleep_until};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Delivery, EndpointConfig, Middleware, Profile, PublishMode, Publisher, Session, SessionConfig,
    Sink, Take, Wait,
};
use rmwbench_harness::qos::Qos;
use serde_json::json;

use crate::affinity;
use crate::bare::{self, Bare, PAYLOAD_BYTES};

const PER_TURN: usize = 100;
const WARM_UP: usize = 20;

/// The state of a sink that only the floor's one waiting thread enters.
struct OneThread<T>(UnsafeCell<T>);

// SAFETY: a session has one waiting thread, and `main` touches the state only before the first
// message.
unsafe impl<T: Send> Sync for OneThread<T> {}
unsafe impl<T: Send> Send for OneThread<T> {}

struct Pinging {
    publisher: Box<dyn Publisher>,
    bare: Bare,
    times: Times,
    begin_ns: i64,
    answered: usize,
    turns: usize,
    done: Sender<Times>,
}

/// Nanoseconds per round trip, one value for each turn.
#[derive(Default)]
struct Times {
    floor: Vec<f64>,
    bare: Vec<f64>,
    stamped: Vec<f64>,
}

impl Sink for OneThread<Pinging> {
    fn deliver(&self, delivery: &Delivery<'_>) {
        // SAFETY: see `OneThread`.
        let state = unsafe { &mut *self.0.get() };
        let payload: [u8; PAYLOAD_BYTES] = delivery.payload.try_into().expect("64 bytes come back");
        state.answered += 1;
        if state.answered % PER_TURN == 0 {
            if state.answered == PER_TURN {
                affinity::pin(0);
            }
            state.times.floor.push((now_ns() - state.begin_ns) as f64 / PER_TURN as f64);
            for stamped in [false, true] {
                let begin_ns = now_ns();
                for _ in 0..PER_TURN {
                    black_box(state.bare.ping(&payload, stamped));
                }
                let times = if stamped { &mut state.times.stamped } else { &mut state.times.bare };
                times.push((now_ns() - begin_ns) as f64 / PER_TURN as f64);
            }
            if state.times.floor.len() == state.turns {
                let _ = state.done.send(std::mem::take(&mut state.times));
                return;
            }
            state.begin_ns = now_ns();
        }
        let _ = state.publisher.publish(&payload);
    }
}

struct Echoing {
    publisher: Box<dyn Publisher>,
    bare: Bare,
    answered: usize,
}

impl Sink for OneThread<Echoing> {
    fn deliver(&self, delivery: &Delivery<'_>) {
        // SAFETY: see `OneThread`.
        let state = unsafe { &mut *self.0.get() };
        let payload: [u8; PAYLOAD_BYTES] = delivery.payload.try_into().expect("64 bytes come");
        let _ = state.publisher.publish(&payload);
        state.answered += 1;
        if state.answered % PER_TURN == 0 {
            if state.answered == PER_TURN {
                affinity::pin(1);
            }
            (0..2 * PER_TURN).for_each(|n| state.bare.pong(n >= PER_TURN));
        }
    }
}

pub fn run(kind: &str, times: usize) -> Result<(), String> {
    let sleeps = kind == "futex";
    let what = format!("floor {kind} / bare {kind} ping-pong");
    // Without sleeping, the floor costs little more than its clock reads, and the cost of these for
    // a message that waits for them depends on the processor: the promise is about the line that
    // has the reads on both sides.
    let against_bare = line(&what, if sleeps { Limit::Within(0.9, 1.25) } else { Limit::None });
    if affinity::cores().len() < 2 {
        print(&against_bare.no_data("not testable here: needs two cores"));
        return Ok(());
    }
    let text = |e: rustix::io::Errno| e.to_string();
    let mailbox = bare::create().map_err(text)?;
    let domain_id = std::process::id();
    let mut peer = Peer(
        Command::new(std::env::current_exe().map_err(|e| e.to_string())?)
            .args(["--echo", kind, &domain_id.to_string(), &mailbox.as_raw_fd().to_string()])
            .stdin(Stdio::piped()) // its end of file makes the peer leave
            .spawn()
            .map_err(|e| e.to_string())?,
    );
    let mut session = open(domain_id)?;
    let mut node = session.node("ping").map_err(|e| e.to_string())?;
    let publisher = node.publisher(&endpoint("ping", sleeps)).map_err(|e| e.to_string())?;
    let (done, finished) = channel();
    let turns = WARM_UP + times * if sleeps { 150 } else { 1000 };
    let bare = Bare::open(&mailbox, 0, sleeps).map_err(text)?;
    let state = Pinging {
        publisher,
        bare,
        times: Times::default(),
        begin_ns: now_ns(),
        answered: 0,
        turns,
        done,
    };
    let sink = Arc::new(OneThread(UnsafeCell::new(state)));
    let subscription =
        node.subscription(&endpoint("pong", sleeps), sink.clone()).map_err(|e| e.to_string())?;
    {
        // SAFETY: no message has been sent, so the waiting thread is not in the sink.
        let state = unsafe { &mut *sink.0.get() };
        let give_up_ns = now_ns() + 10_000_000_000;
        while state.publisher.matched() == 0 || subscription.matched() == 0 {
            if now_ns() > give_up_ns {
                return Err("the other process did not match within 10 s".into());
            }
            sleep_until(now_ns() + 1_000_000);
        }
        state.publisher.publish(&[7; PAYLOAD_BYTES]).map_err(|e| format!("{e:?}"))?;
    }
    let times = finished
        .recv_timeout(std::time::Duration::from_secs(60 * times as u64))
        .map_err(|e| format!("{what}: {e}"))?;
    drop(subscription);
    peer.leave();
    let _ = std::fs::remove_dir_all(format!("/tmp/rmwbench-floor.{domain_id}"));
    let [floor, bare, stamped] =
        [&times.floor[WARM_UP..], &times.bare[WARM_UP..], &times.stamped[WARM_UP..]];
    let clock_ns = clock_read_ns();
    let excess: Vec<f64> =
        floor.iter().zip(bare).map(|(floor, bare)| (floor - bare) / clock_ns).collect();
    let mut result = against_bare.of_pairs(floor, bare);
    result["details"] =
        json!({"clock_read_ns": clock_ns, "excess_in_clock_reads": ratio::median(&excess)});
    print(&result);
    // How much of the excess is due to clock reads in the path, where each waits for the message
    // before.
    let limit = if sleeps { Limit::None } else { Limit::AtMost(1.05) };
    print(
        &line(&format!("{what} with four clock reads in its path"), limit).of_pairs(floor, stamped),
    );
    Ok(())
}

fn line(name: &str, limit: Limit) -> Line<'_> {
    Line {
        bench: "floor",
        name,
        message_bytes: PAYLOAD_BYTES as u32,
        metric: "round_trip",
        unit: "ns",
        limit,
    }
}

/// The other process: answers until its stdin ends.
pub fn echo(kind: &str, domain_id: &str, mailbox: &str) -> Result<(), String> {
    let sleeps = kind == "futex";
    let number: i32 = mailbox.parse().map_err(|e| format!("{mailbox}: {e}"))?;
    // SAFETY: the parent passed this descriptor for us alone.
    let mailbox = unsafe { OwnedFd::from_raw_fd(number) };
    let mut session = open(domain_id.parse().map_err(|e| format!("{domain_id}: {e}"))?)?;
    let mut node = session.node("pong").map_err(|e| e.to_string())?;
    let publisher = node.publisher(&endpoint("pong", sleeps)).map_err(|e| e.to_string())?;
    let bare = Bare::open(&mailbox, 1, sleeps).map_err(|e| e.to_string())?;
    let sink = Arc::new(OneThread(UnsafeCell::new(Echoing { publisher, bare, answered: 0 })));
    let _subscription =
        node.subscription(&endpoint("ping", sleeps), sink).map_err(|e| e.to_string())?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(|e| e.to_string())?;
    // The waiting thread may wait for the bare mailbox for ever: exit without stopping it.
    std::process::exit(0)
}

struct Peer(Child);

impl Peer {
    fn leave(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn open(domain_id: u32) -> Result<Box<dyn Session>, String> {
    let profile = Profile {
        name: "untouched".into(),
        format: "none".into(),
        text: String::new(),
        summary: String::new(),
    };
    Floor
        .open(&SessionConfig {
            profile,
            options: BTreeMap::new(),
            modes: Default::default(),
            domain_id,
            trial_nonce: 1,
        })
        .map_err(|e| e.to_string())
}

fn endpoint(topic: &str, sleeps: bool) -> EndpointConfig {
    EndpointConfig {
        endpoint: 1,
        topic: topic.into(),
        message_type: MessageType::bytes(PAYLOAD_BYTES as u32),
        reply_type: None,
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: if sleeps { Wait::Block } else { Wait::Poll },
        take: Take::Typed,
    }
}

fn clock_read_ns() -> f64 {
    let reads = |n: u32| {
        let begin_ns = now_ns();
        (0..n).for_each(|_| {
            black_box(now_ns());
        });
        (now_ns() - begin_ns) as f64 / f64::from(n)
    };
    ratio::median(&(0..50).map(|_| reads(2000)).collect::<Vec<_>>())
}
