//! Datagrams at a fixed rate over `lo`, between two sockets of this process: about 112 Mbit/s, the
//! size and rate of a compressed camera stream, in bursts of a millisecond's worth.
//!
//! Open loop: what is due is sent, late or not, but datagrams that are late by more than
//! `GIVEN_UP_NS` are not sent.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Mutex;

use crate::clock::{now_ns, sleep_until};

pub const DATAGRAMS_PER_S: u64 = 10_000;
pub const DATAGRAM_BYTES: usize = 1400;
const BURST: u64 = 10;
const INTERVAL_NS: i64 = 1_000_000_000 / (DATAGRAMS_PER_S as i64 / BURST as i64);
const GIVEN_UP_NS: i64 = 100_000_000;

pub static SENT: AtomicU64 = AtomicU64::new(0);
pub static RECEIVED: AtomicU64 = AtomicU64::new(0);

/// When each burst had been sent, and how many datagrams had been sent by then: a reader of an
/// interface's counters can subtract exactly these.
static BURSTS: Mutex<Vec<(i64, u64)>> = Mutex::new(Vec::new());
/// Readings of others at an edge of the window are within this time of ours.
const NEAR_NS: i64 = 50_000_000;

/// The edges of the window. Around each edge the sender pauses, so that counters are not read in
/// the middle of a burst, and then catches up.
static EDGES_NS: [AtomicI64; 2] = [AtomicI64::new(i64::MAX), AtomicI64::new(i64::MAX)];
const PAUSE_BEFORE_NS: i64 = 1_000_000;
const PAUSE_AFTER_NS: i64 = 3_000_000;

pub fn pause_around(edges_ns: [i64; 2]) {
    for (edge, at) in EDGES_NS.iter().zip(edges_ns) {
        edge.store(at, Ordering::Relaxed);
    }
}

/// The end of the pause in which `now_ns` is.
fn pause_end_ns(now_ns: i64) -> Option<i64> {
    let edges =
        EDGES_NS.iter().map(|edge| edge.load(Ordering::Relaxed)).filter(|&edge| edge != i64::MAX);
    edges
        .filter(|edge| (edge - PAUSE_BEFORE_NS..edge + PAUSE_AFTER_NS).contains(&now_ns))
        .map(|edge| edge + PAUSE_AFTER_NS)
        .max()
}

/// The bursts near any of these times.
pub fn bursts_near(times_ns: &[i64]) -> Vec<(i64, u64)> {
    let near =
        |&&(time_ns, _): &&(i64, u64)| times_ns.iter().any(|at| (at - time_ns).abs() <= NEAR_NS);
    BURSTS.lock().map(|bursts| bursts.iter().filter(near).copied().collect()).unwrap_or_default()
}

/// Starts sender and receiver.
pub fn start() -> io::Result<()> {
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    sender.send(&[0; DATAGRAM_BYTES])?; // shows that sending works; later failures are counted
    let take = move || {
        let mut buffer = [0; 2048];
        while receiver.recv(&mut buffer).is_ok() {
            RECEIVED.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::Builder::new().name("load-receiver".into()).spawn(take)?;
    std::thread::Builder::new().name("load-sender".into()).spawn(move || send(&sender))?;
    Ok(())
}

fn send(sender: &UdpSocket) {
    let payload = [0xC3; DATAGRAM_BYTES];
    let mut due_ns = now_ns();
    loop {
        due_ns += INTERVAL_NS;
        sleep_until(due_ns);
        if let Some(end_ns) = pause_end_ns(now_ns()) {
            sleep_until(end_ns);
        }
        due_ns = due_ns.max(now_ns() - GIVEN_UP_NS);
        for _ in 0..BURST {
            // A full buffer of the receiver drops silently; an error here (no memory) means that
            // the datagram was not sent.
            if sender.send(&payload).is_ok() {
                SENT.fetch_add(1, Ordering::Relaxed);
            }
        }
        if let Ok(mut bursts) = BURSTS.lock() {
            bursts.push((now_ns(), SENT.load(Ordering::Relaxed)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sender_pauses_at_the_edges_and_nowhere_else() {
        assert_eq!(pause_end_ns(0), None);
        pause_around([100_000_000, 200_000_000]);
        assert_eq!(pause_end_ns(99_500_000), Some(103_000_000));
        assert_eq!(pause_end_ns(202_900_000), Some(203_000_000));
        assert_eq!(
            (pause_end_ns(98_000_000), pause_end_ns(150_000_000), pause_end_ns(203_000_000)),
            (None, None, None)
        );
    }
}
