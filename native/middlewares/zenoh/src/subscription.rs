//! Receiving: Zenoh's callback, either straight to the sink or into a queue of the mailroom.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishMode, Sink, Wait};
use rmwbench_harness::qos::{History, Qos, Reliability};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Sample, SampleKind};
use zenoh::Wait as _;

use crate::graph::Side;
use crate::mailroom::{Mailroom, Post, WhenFull};
use crate::session::Shared;

pub struct ZenohSubscription {
    token: Option<LivelinessToken>,
    subscriber: Option<Subscriber<()>>,
    post: Option<Arc<Post>>,
    /// Keeps the thread while a subscription needs it.
    _mailroom: Option<Arc<Mailroom>>,
    topic: String,
    granted: Granted,
    counts: Arc<Counts>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Counts {
    in_shared_memory: AtomicU64,
    elsewhere: AtomicU64,
    /// Came in pieces and had to be put together.
    copied: AtomicU64,
}

impl ZenohSubscription {
    pub fn create(node: &str, config: &EndpointConfig, sink: Arc<dyn Sink>, shared: &Arc<Shared>) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.qos.reliability == Reliability::Reliable && shared.udp_links {
            return Err(Error::unsupported(object(), "reliable: this profile has UDP links, and Zenoh resends nothing over them"));
        }
        let counts = Arc::new(Counts::default());
        let (counted, key) = (counts.clone(), shared.key(&config.topic)?);
        let declare = shared.session.declare_subscriber(key);
        let mut post = None;
        let mut mailroom = None;
        let subscriber = if config.wait == Wait::Callback {
            declare.callback(move |sample| hand_over(&sample, now_ns(), &counted, &*sink)).wait()
        } else {
            let room = shared.mailroom(config.wait).map_err(|e| Error::failed(object(), e))?;
            let (depth, when_full) = queue(&config.qos, shared.keep_all_depth);
            let polls = config.wait == Wait::Poll;
            let queue = room.post(
                depth,
                when_full,
                // Nobody waits when polling: the message is noticed when it is taken.
                Box::new(move |sample, notified_ns| hand_over(&sample, if polls { now_ns() } else { notified_ns }, &counted, &*sink)),
            );
            mailroom = Some(room);
            post = Some(queue.clone());
            declare.callback(move |sample| queue.put(sample)).wait()
        };
        let subscriber = subscriber.map_err(|e| Error::failed(object(), e))?;
        let token = shared.graph.announce(Side::Subscription, node, config.endpoint, &config.topic)?;
        Ok(ZenohSubscription {
            token: Some(token),
            subscriber: Some(subscriber),
            post,
            _mailroom: mailroom,
            topic: config.topic.clone(),
            granted: granted(config, shared.keep_all_depth),
            counts,
            shared: shared.clone(),
        })
    }
}

fn queue(qos: &Qos, keep_all_depth: usize) -> (usize, WhenFull) {
    match (qos.history, qos.reliability) {
        (History::KeepLast, _) => (qos.depth as usize, WhenFull::DropOldest),
        (History::KeepAll, Reliability::Reliable) => (keep_all_depth, WhenFull::Block),
        (History::KeepAll, Reliability::BestEffort) => (keep_all_depth, WhenFull::DropNewest),
    }
}

fn granted(config: &EndpointConfig, keep_all_depth: usize) -> Granted {
    let mut qos = config.qos.clone();
    let note = if config.wait == Wait::Callback {
        "wait callback has no queue: Zenoh's receiving thread delivers each message, depth drops nothing".to_string()
    } else {
        let (depth, when_full) = queue(&config.qos, keep_all_depth);
        qos.depth = depth as u32;
        match when_full {
            WhenFull::DropOldest => format!("a queue of {depth} behind Zenoh's callback, over all publishers; full, it drops its oldest"),
            WhenFull::DropNewest => format!("a queue of {depth} behind Zenoh's callback, over all publishers; full, it drops the newest"),
            WhenFull::Block => {
                format!("a queue of {depth} behind Zenoh's callback; full, it holds up Zenoh's receiving thread and so its link")
            }
        }
    };
    Granted { qos, publish_mode: PublishMode::Async, wait: config.wait, notes: vec![note] }
}

/// Gives the sink a contiguous payload; pieces are put together before `taken_ns`, as any reader of bytes would have to.
#[inline]
fn hand_over(sample: &Sample, notified_ns: i64, counts: &Counts, sink: &dyn Sink) {
    if sample.kind() != SampleKind::Put {
        return;
    }
    let zero_copy = sample.payload().as_shm().is_some();
    let payload = sample.payload().to_bytes();
    // The wait's return and the taking are two moments for a queue; for a callback that brings whole data they are one.
    let taken_ns = now_ns();
    if let Cow::Owned(_) = payload {
        counts.copied.fetch_add(1, Ordering::Relaxed);
    }
    let path = if zero_copy { &counts.in_shared_memory } else { &counts.elsewhere };
    path.fetch_add(1, Ordering::Relaxed);
    sink.deliver(&Delivery { notified_ns, taken_ns, payload: &payload, zero_copy });
}

impl Drop for ZenohSubscription {
    fn drop(&mut self) {
        self.token.take();
        // The queue first: it releases a sender that it holds up, for whom the undeclaration would wait.
        if let Some(post) = &self.post {
            post.close();
        }
        if let Some(subscriber) = self.subscriber.take() {
            let _ = subscriber.undeclare().wait_callbacks().wait();
        }
    }
}

impl trait_::Endpoint for ZenohSubscription {
    fn matched(&self) -> u32 {
        let count = self.shared.graph.count(Side::Publisher, &self.topic);
        count.local + count.remote
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let in_shared_memory = self.counts.in_shared_memory.load(Ordering::Relaxed);
        let elsewhere = self.counts.elsewhere.load(Ordering::Relaxed);
        let mut evidence = Vec::new();
        if in_shared_memory > 0 {
            evidence.push(Evidence { path: "shm".into(), messages: in_shared_memory, note: "payload().as_shm()".into() });
        }
        if elsewhere > 0 {
            let (path, note) = self.path_elsewhere();
            evidence.push(Evidence { path, messages: elsewhere, note });
        }
        let copied = self.counts.copied.load(Ordering::Relaxed);
        Account {
            reader_drops: self.post.as_ref().map(|post| post.dropped()),
            counters: [("reassembled".to_string(), copied as i64)].into(),
            evidence,
        }
    }
}

impl ZenohSubscription {
    /// Messages that were not in shared memory: Zenoh does not mark them, so their path is inferred from who publishes and which
    /// links there are.
    fn path_elsewhere(&self) -> (String, String) {
        let publishers = self.shared.graph.count(Side::Publisher, &self.topic);
        let links: BTreeSet<String> =
            self.shared.session.info().links().wait().map(|link| link.src().protocol().as_str().to_string()).collect();
        let names: Vec<&str> = links.iter().map(|l| if l.starts_with("unix") { "unix" } else { l.as_str() }).collect();
        if publishers.local > 0 && publishers.remote == 0 {
            ("intra_process".into(), "inferred: all publishers are in this session".into())
        } else if publishers.local == 0 && names.len() == 1 {
            (names[0].into(), "inferred: not in shared memory, and the session's links are all of this kind".into())
        } else {
            ("unknown".into(), format!("not in shared memory; links: {}, local publishers: {}", names.join(" "), publishers.local))
        }
    }
}

impl trait_::Subscription for ZenohSubscription {}
