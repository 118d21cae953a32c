//! How a message gets from Zenoh's callback to the harness, the same for messages, requests and
//! replies: straight away, or through a queue that the session's receive loop empties; and what is
//! known of the path that it took.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishMode, TakenAs, Wait,
    WhenFull,
};
use rmwbench_harness::pump::{self, Registration};
use rmwbench_harness::qos::{History, Qos, Reliability};
use zenoh::bytes::ZBytes;
use zenoh::Wait as _;

use crate::graph::Count;
use crate::queue::{Arrival, Deliver, FullQueue, Queue};
use crate::shared::Shared;

/// What Zenoh's callback calls.
pub type Receive = Box<dyn Fn(Arrival) + Send + Sync>;

/// An endpoint's queue, where its way to wait has one.
pub struct Intake(Option<Arc<Registration<Queue>>>);

impl Intake {
    pub fn open(
        config: &EndpointConfig,
        shared: &Shared,
        deliver: Deliver,
    ) -> Result<(Intake, Receive), Error> {
        if config.wait == Wait::Callback {
            return Ok((Intake(None), Box::new(move |arrival| deliver(arrival, now_ns()))));
        }
        let (depth, when_full) = policy(&config.qos, shared.keep_all_depth);
        let queue = Arc::new(shared.queues.add(config.wait, depth, when_full, deliver)?);
        let intake = Intake(Some(queue.clone()));
        Ok((intake, Box::new(move |arrival| queue.source().put(arrival, || queue.is_in_loop()))))
    }

    /// Ends delivery. To be called before the endpoint is undeclared: it releases a sender that the
    /// queue holds up.
    pub fn close(&self) {
        if let Some(queue) = &self.0 {
            queue.source().close();
            queue.end();
        }
    }

    pub fn dropped(&self) -> Option<u64> {
        self.0.as_ref().map(|queue| queue.source().dropped())
    }
}

fn policy(qos: &Qos, keep_all_depth: usize) -> (usize, FullQueue) {
    match (qos.history, qos.reliability) {
        (History::KeepLast, _) => (qos.depth as usize, FullQueue::DropOldest),
        (History::KeepAll, Reliability::Reliable) => (keep_all_depth, FullQueue::Block),
        (History::KeepAll, Reliability::BestEffort) => (keep_all_depth, FullQueue::DropNewest),
    }
}

/// `lends`: messages of this size may come in shared memory.
pub fn granted(config: &EndpointConfig, keep_all_depth: usize, lends: bool) -> Granted {
    let mut qos = config.qos.clone();
    let when_full = match policy(&config.qos, keep_all_depth).1 {
        _ if config.wait == Wait::Callback => WhenFull::Blocks,
        FullQueue::Block => WhenFull::Blocks,
        FullQueue::DropOldest | FullQueue::DropNewest => WhenFull::DropsAtReader,
    };
    let note = if config.wait == Wait::Callback {
        "wait callback has no queue: Zenoh's receiving thread, or a publisher of the same session, delivers each message, depth drops nothing".to_string()
    } else {
        let (depth, when_full) = policy(&config.qos, keep_all_depth);
        qos.depth = depth as u32;
        match when_full {
            FullQueue::DropOldest => format!("a queue of {depth} behind Zenoh's callback, over all publishers; full, it drops its oldest"),
            FullQueue::DropNewest => format!("a queue of {depth} behind Zenoh's callback, over all publishers; full, it drops the newest"),
            FullQueue::Block => {
                format!("a queue of {depth} behind Zenoh's callback; full, it holds up who delivers: Zenoh's receiving thread and so its link, or a publisher of the same session")
            }
        }
    };
    let (take, of_take) = if lends {
        (TakenAs::Lent, "take: lent in Zenoh's shared memory; what came another way is the reader's own, and not flagged zero_copy")
    } else {
        (TakenAs::Typed, "take typed: the payload is a ZBytes of the reader's own, put together where it came in pieces")
    };
    let mut notes = vec![note, of_take.into()];
    if config.wait != Wait::Callback {
        notes.push(pump::NOTE.into());
    }
    Granted {
        qos,
        publish_mode: PublishMode::Async,
        wait: config.wait,
        take: Some(take),
        when_full: Some(when_full),
        notes,
    }
}

#[derive(Default)]
pub struct Counts {
    in_shared_memory: AtomicU64,
    elsewhere: AtomicU64,
    /// Came in pieces and had to be put together.
    copied: AtomicU64,
}

impl Counts {
    /// Gives `take` a contiguous payload; pieces are put together before it is taken, as any reader
    /// of bytes would have to. In one piece it is the reader's own as it is: a `ZBytes` of it,
    /// which it may keep.
    #[inline]
    pub fn hand_over(&self, payload: &ZBytes, notified_ns: i64, take: impl FnOnce(&Delivery<'_>)) {
        let zero_copy = payload.as_shm().is_some();
        let payload = payload.to_bytes();
        if let Cow::Owned(_) = payload {
            self.copied.fetch_add(1, Ordering::Relaxed);
        }
        let path = if zero_copy { &self.in_shared_memory } else { &self.elsewhere };
        path.fetch_add(1, Ordering::Relaxed);
        take(&Delivery::taken(notified_ns, &payload, zero_copy));
    }

    /// `senders` are the sessions that ever had an endpoint which sends to this one.
    pub fn account(&self, intake: &Intake, senders: Count, session: &zenoh::Session) -> Account {
        let in_shared_memory = self.in_shared_memory.load(Ordering::Relaxed);
        let elsewhere = self.elsewhere.load(Ordering::Relaxed);
        let mut evidence = Vec::new();
        if in_shared_memory > 0 {
            evidence.push(Evidence {
                path: "shm".into(),
                messages: in_shared_memory,
                note: "payload().as_shm()".into(),
            });
        }
        if elsewhere > 0 {
            let (path, note) = path_elsewhere(senders, session);
            evidence.push(Evidence { path, messages: elsewhere, note });
        }
        let copied = self.copied.load(Ordering::Relaxed);
        Account {
            reader_drops: intake.dropped(),
            counters: [("reassembled".to_string(), copied as i64)].into(),
            evidence,
        }
    }
}

/// Messages that were not in shared memory: Zenoh does not mark them, so their path is inferred
/// from who sent, also if it has left, and which links there are.
fn path_elsewhere(senders: Count, session: &zenoh::Session) -> (String, String) {
    let links: BTreeSet<String> = session
        .info()
        .links()
        .wait()
        .map(|link| link.src().protocol().as_str().to_string())
        .collect();
    let names: Vec<&str> =
        links.iter().map(|l| if l.starts_with("unix") { "unix" } else { l.as_str() }).collect();
    if senders.local > 0 && senders.remote == 0 {
        ("intra_process".into(), "inferred: all senders are in this session".into())
    } else if senders.local == 0 && names.len() == 1 {
        // TLS runs over TCP sockets.
        let path = if names[0] == "tls" { "tcp" } else { names[0] };
        (
            path.into(),
            format!("inferred: not in shared memory, and the session's links are all {}", names[0]),
        )
    } else {
        (
            "unknown".into(),
            format!(
                "not in shared memory; links: {}, sessions that sent: {}, this one among them: {}",
                names.join(" "),
                senders.total(),
                senders.local > 0
            ),
        )
    }
}
