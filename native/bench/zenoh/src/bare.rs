//! The same exchange written by hand on Zenoh's API: what a user writes who wants each message's latency.
//!
//! It fills and reads the whole payload as the worker does, since that is the user's work and not the instrument's; it stamps a
//! message twice, before the put and when the sample is in hand. `block` receives from Zenoh's ring channel, `callback` in Zenoh's
//! own thread.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::Wait;
use rmwbench_harness::payload::{fill, verify};
use zenoh::handlers::{RingChannel, RingChannelHandler};
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Reliability};
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait as _};

use crate::turns::{Load, Path};

/// The sequence number; the pattern follows.
const HEAD_BYTES: usize = 8;
const KEY: &str = "rmwbench/0/bare";

/// Fields in the order of closing.
pub struct Bare {
    publisher: Publisher<'static>,
    message: Vec<u8>,
    call_ns: Vec<i64>,
    reader: Arc<Reader>,
    subscriber: Option<Receiving>,
    thread: Option<JoinHandle<()>>,
    _sessions: [Session; 2],
}

enum Receiving {
    Ring(#[allow(dead_code)] Arc<Subscriber<RingChannelHandler<Sample>>>),
    Callback(#[allow(dead_code)] Subscriber<()>),
}

struct Reader {
    taken_ns: Vec<AtomicI64>,
    next: AtomicU64,
    corrupt: AtomicBool,
    stop: AtomicBool,
}

impl Bare {
    pub fn open(configs: [Config; 2], load: &Load, messages: usize, wait: Wait) -> zenoh::Result<Bare> {
        let [writing, reading] = configs;
        let sessions = [zenoh::open(writing).wait()?, zenoh::open(reading).wait()?];
        let reader = Arc::new(Reader {
            taken_ns: (0..messages).map(|_| AtomicI64::new(0)).collect(),
            next: AtomicU64::new(0),
            corrupt: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let theirs = reader.clone();
        let (subscriber, thread) = if wait == Wait::Callback {
            let subscriber = sessions[1].declare_subscriber(KEY).callback(move |sample| theirs.take(&sample)).wait()?;
            (Receiving::Callback(subscriber), None)
        } else {
            let subscriber = Arc::new(sessions[1].declare_subscriber(KEY).with(RingChannel::new(10)).wait()?);
            let ring = subscriber.clone();
            let thread = std::thread::spawn(move || {
                while !theirs.stop.load(Ordering::Relaxed) {
                    if let Ok(sample) = ring.recv() {
                        theirs.take(&sample);
                    }
                }
            });
            (Receiving::Ring(subscriber), Some(thread))
        };
        let publisher = sessions[0]
            .declare_publisher(KEY)
            .congestion_control(CongestionControl::Block)
            .reliability(Reliability::Reliable)
            .wait()?;
        let message = vec![0xA5; load.payload_bytes as usize];
        let call_ns = Vec::with_capacity(messages);
        Ok(Bare { publisher, message, call_ns, reader, subscriber: Some(subscriber), thread, _sessions: sessions })
    }
}

impl Reader {
    fn take(&self, sample: &Sample) {
        let payload = sample.payload().to_bytes();
        let taken_ns = now_ns();
        let Some((head, body)) = payload.split_at_checked(HEAD_BYTES) else { return };
        let seq = u64::from_le_bytes(head.try_into().unwrap());
        if !verify(body, 1, seq) {
            self.corrupt.store(true, Ordering::Relaxed);
        }
        if let Some(place) = self.taken_ns.get(seq as usize) {
            place.store(taken_ns, Ordering::Relaxed);
            self.next.store(seq + 1, Ordering::Release);
        }
    }
}

impl Path for Bare {
    fn ready(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.publisher.matching_status().wait().is_ok_and(|status| status.matching()) {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    fn send(&mut self, _due_ns: i64) {
        let seq = self.call_ns.len() as u64;
        self.message[..HEAD_BYTES].copy_from_slice(&seq.to_le_bytes());
        fill(&mut self.message[HEAD_BYTES..], 1, seq);
        self.call_ns.push(now_ns());
        self.publisher.put(&self.message).wait().expect("an open session");
    }

    fn all_received(&self) -> bool {
        self.reader.next.load(Ordering::Acquire) >= self.call_ns.len() as u64
    }

    fn latencies_ns(&self) -> Vec<Option<f64>> {
        let taken = self.reader.taken_ns.iter().map(|t| t.load(Ordering::Relaxed));
        self.call_ns.iter().zip(taken).map(|(call, taken)| (taken != 0).then_some((taken - call) as f64)).collect()
    }

    fn intact(&self) -> bool {
        !self.reader.corrupt.load(Ordering::Relaxed)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.reader.stop.store(true, Ordering::Relaxed);
        // An empty message gets the reading thread out of its wait; it carries no sequence number.
        let _ = self.publisher.put(&[0_u8; 0][..]).wait();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.subscriber.take();
    }
}
