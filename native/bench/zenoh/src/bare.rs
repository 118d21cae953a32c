//! The same exchange written by hand on Zenoh's API, as by a user who wants each message's latency.
//!
//! It fills and reads the whole payload as the worker does, since that is the user's work and not
//! the instrument's; it stamps a message twice, before the put and after the sample was taken. The
//! put takes over the message's memory, as in Zenoh's examples, and its memory is used again.
//! `block` receives from Zenoh's ring channel, `callback` in Zenoh's own thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

use bytes::{Bytes, BytesMut};
use rmwbench_bench::{write_message, Arrivals, ByHand, Round};
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::Wait;
use zenoh::handlers::{RingChannel, RingChannelHandler};
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Reliability};
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait as _};

const KEY: &str = "rmwbench/0/bare";

/// The fields are in the order of closing.
pub struct Bare {
    publisher: Publisher<'static>,
    /// The message that was sent last; it can be used again when Zenoh has released it.
    message: Bytes,
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
    arrivals: Arrivals,
    stop: AtomicBool,
}

impl Bare {
    pub fn open(configs: [Config; 2], round: &Round, wait: Wait) -> zenoh::Result<Bare> {
        let [writing, reading] = configs;
        let sessions = [zenoh::open(writing).wait()?, zenoh::open(reading).wait()?];
        let reader = Arc::new(Reader {
            arrivals: Arrivals::new(round.messages()),
            stop: AtomicBool::new(false),
        });
        let theirs = reader.clone();
        let (subscriber, thread) = if wait == Wait::Callback {
            let subscriber = sessions[1]
                .declare_subscriber(KEY)
                .callback(move |sample| theirs.take(&sample))
                .wait()?;
            (Receiving::Callback(subscriber), None)
        } else {
            let subscriber =
                Arc::new(sessions[1].declare_subscriber(KEY).with(RingChannel::new(10)).wait()?);
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
        let message = Bytes::from(vec![0xA5; round.load.payload_bytes as usize]);
        let call_ns = Vec::with_capacity(round.messages());
        Ok(Bare {
            publisher,
            message,
            call_ns,
            reader,
            subscriber: Some(subscriber),
            thread,
            _sessions: sessions,
        })
    }
}

impl Reader {
    fn take(&self, sample: &Sample) {
        let payload = sample.payload().to_bytes();
        self.arrivals.take(&payload, now_ns());
    }
}

impl ByHand for Bare {
    fn matched(&mut self) -> bool {
        self.publisher.matching_status().wait().is_ok_and(|status| status.matching())
    }

    fn send(&mut self) {
        let sent = std::mem::take(&mut self.message);
        let mut message = sent.try_into_mut().unwrap_or_else(|away| BytesMut::from(&away[..]));
        write_message(&mut message, self.call_ns.len() as u64);
        self.message = message.freeze();
        self.call_ns.push(now_ns());
        self.publisher.put(self.message.clone()).wait().expect("an open session");
    }

    fn calls_ns(&self) -> &[i64] {
        &self.call_ns
    }

    fn arrivals(&self) -> &Arrivals {
        &self.reader.arrivals
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.reader.stop.store(true, Ordering::Relaxed);
        // An empty message ends the reading thread's wait; it has no sequence number.
        let _ = self.publisher.put(&[0_u8; 0][..]).wait();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.subscriber.take();
    }
}
