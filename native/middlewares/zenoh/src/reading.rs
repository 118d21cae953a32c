//! How a message gets from Zenoh's callback to the harness, the same for messages, requests and
//! replies: directly, or through a queue that the session's receive loop empties; and what is known
//! of the path that it took.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishMode, Take, TakenAs, Wait,
    WhenFull,
};
use rmwbench_harness::pump::{self, Registration};
use rmwbench_harness::qos::{History, Qos, Reliability};
use zenoh::bytes::ZBytes;
use zenoh::Wait as _;

use crate::graph::Count;
use crate::queue::{Arrival, Deliver, FullQueue, Queue};
use crate::shared::Shared;

/// The function that Zenoh's callback calls.
pub type Receive = Box<dyn Fn(Arrival) + Send + Sync>;

/// An endpoint's queue, if its kind of waiting has one.
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

    /// Ends delivery. Call it before the endpoint is undeclared: it releases a sender for which the
    /// queue is full.
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

/// `lends`: whether messages of this size may come in shared memory.
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
    let (take, of_take) = match config.take {
        _ if lends => (TakenAs::Lent, "take: lent in Zenoh's shared memory, or by a sender of the same session; what came another way is copied into memory of the reader's own, and not flagged zero_copy"),
        Take::Typed => (TakenAs::Typed, "take typed: the payload is copied into memory of the reader's own, as other APIs' deserialisers do; a message of the same session is lent by its sender, and flagged zero_copy"),
        Take::Raw => (TakenAs::Raw, "take raw: the payload is a slice of the link's receive buffer, which the ZBytes keeps, or put together where it came in pieces"),
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

/// An endpoint's payloads: where they are when they are taken, and how they came.
pub struct Payloads {
    /// The reader's own memory, of the size of a message; None for `take: raw`. Zenoh may call one
    /// endpoint from several threads at once: a thread that finds it in use allocates new memory.
    own: Option<Mutex<Box<[u8]>>>,
    in_shared_memory: AtomicU64,
    in_session: AtomicU64,
    elsewhere: AtomicU64,
    /// The number of payloads that came in pieces and had to be joined.
    in_pieces: AtomicU64,
}

impl Payloads {
    /// For messages of up to `bytes`; longer ones have another type under this name.
    pub fn new(take: Take, bytes: u32) -> Payloads {
        // It is written, not merely allocated: the first message must not pay for its pages.
        let own = (take == Take::Typed).then(|| Mutex::new(vec![0xA5; bytes as usize].into()));
        let [in_shared_memory, in_session, elsewhere, in_pieces] = Default::default();
        Payloads { own, in_shared_memory, in_session, elsewhere, in_pieces }
    }

    /// Passes a contiguous payload to `take`. A payload that is lent, in shared memory or by a
    /// sender of this session, is read in place; others are in the link's receive buffers, and are
    /// copied out of them unless `take: raw` is requested.
    #[inline]
    pub fn hand_over(
        &self,
        payload: &ZBytes,
        in_session: bool,
        notified_ns: i64,
        take: impl FnOnce(&Delivery<'_>),
    ) {
        let shared = payload.as_shm().is_some();
        let path = match (in_session, shared) {
            (true, _) => &self.in_session,
            (false, true) => &self.in_shared_memory,
            (false, false) => &self.elsewhere,
        };
        path.fetch_add(1, Ordering::Relaxed);
        let lent = shared || in_session;
        if payload.slices().nth(1).is_some() {
            self.in_pieces.fetch_add(1, Ordering::Relaxed);
        }
        match &self.own {
            Some(own) if !lent => match own.try_lock() {
                Ok(mut own) if payload.len() <= own.len() => {
                    take(&Delivery::taken(notified_ns, gather(payload, &mut own), false))
                }
                _ => {
                    let copied = payload.to_bytes().into_owned();
                    take(&Delivery::taken(notified_ns, &copied, false));
                }
            },
            _ => take(&Delivery::taken(notified_ns, &payload.to_bytes(), lent)),
        }
    }

    /// `senders` are the sessions that ever had an endpoint which sends to this one; `replays`:
    /// whether they may repeat kept messages.
    pub fn account(
        &self,
        intake: &Intake,
        senders: Count,
        replays: bool,
        session: &zenoh::Session,
    ) -> Account {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let paths = [
            ("shm", &self.in_shared_memory, "payload().as_shm()"),
            ("intra_process", &self.in_session, "the sender's call called the reader"),
        ];
        let mut evidence: Vec<Evidence> = paths
            .into_iter()
            .map(|(path, counter, note)| (path, count(counter), note))
            .filter(|(_, messages, _)| *messages > 0)
            .map(|(path, messages, note)| Evidence {
                path: path.into(),
                messages,
                note: note.into(),
            })
            .collect();
        let elsewhere = count(&self.elsewhere);
        if elsewhere > 0 {
            let (path, note) = path_elsewhere(senders, replays, session);
            evidence.push(Evidence { path, messages: elsewhere, note });
        }
        Account {
            reader_drops: intake.dropped(),
            counters: [("reassembled".to_string(), count(&self.in_pieces) as i64)].into(),
            evidence,
        }
    }
}

/// Copies a payload, in pieces or not, into memory that has room for it.
#[inline]
fn gather<'a>(payload: &ZBytes, own: &'a mut [u8]) -> &'a [u8] {
    let mut filled = 0;
    for piece in payload.slices() {
        own[filled..filled + piece.len()].copy_from_slice(piece);
        filled += piece.len();
    }
    &own[..filled]
}

/// The path of messages that came over a link: Zenoh does not mark it, so it is inferred from the
/// existing links. Messages that a publisher of this session kept for late joiners count here, too,
/// although they used no link.
fn path_elsewhere(senders: Count, replays: bool, session: &zenoh::Session) -> (String, String) {
    let links: BTreeSet<String> = session
        .info()
        .links()
        .wait()
        .map(|link| link.src().protocol().as_str().to_string())
        .collect();
    let names: Vec<&str> =
        links.iter().map(|l| if l.starts_with("unix") { "unix" } else { l.as_str() }).collect();
    if replays && senders.local > 0 && senders.remote == 0 {
        ("intra_process".into(), "inferred: all senders are in this session".into())
    } else if names.len() == 1 && !(replays && senders.local > 0) {
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
