//! LCM through its C API: UDP multicast, a channel per topic, and no repetition of lost messages.
//!
//! - A message arrives in the one queue of an `lcm_t`, and `lcm_handle` delivers in the order of
//!   arrival: the session has an `lcm_t` for each way of waiting, and the harness's receive loop
//!   calls `lcm_handle` ([`Reader`], [`Handled`]).
//! - LCM does not know its peers: the workers inform each other of their endpoints, on a port of
//!   their own ([`presence`]).
//! - A profile is LCM's own kind of configuration, the URL for `lcm_create` and LCM_DEFAULT_URL
//!   ([`Address`]).

mod presence;
mod sys;

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void, CString};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rmwbench_harness::middleware::{
    capabilities, modes, Account, Configuration, Delivery, Description, Endpoint, EndpointConfig,
    Error, Evidence, Granted, Middleware, Node, OneHost, Profile, PublishError, PublishMode,
    Publisher, Session, SessionConfig, Sink, Subscription, Take, TakenAs, Wait, WhenFull,
};
use rmwbench_harness::own_memory::OwnMemory;
use rmwbench_harness::pump::{self, Pumps, Registration, Source, WaitSet, Waker};
use rmwbench_harness::qos::{Durability, History, Reliability};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags};
use serde_json::json;

use presence::{Entry, Presence};
use sys::{Instance, ReceiveBuffer};

pub struct Lcm;

const NOT_RELIABLE: &str = "no: UDP multicast, and nothing is repeated";
const NO_HISTORY: &str = "no: nothing is kept for late joiners";
const NO_CALLBACK: &str =
    "no: a handler runs in the thread that calls lcm_handle, which is `block`";
const KEEP_LAST: &str =
    "partly: a full queue of a subscription drops the newest message, not the oldest";
const KEEP_ALL: &str = "partly: a queue of a subscription without limit; what the socket has no room for is lost before";
const SYNCHRONOUS: &str = "no: lcm_publish sends in the caller's thread";
const SENT_WHOLE: &str = "no: a message is sent when it is published, in datagrams of up to 64 KiB";
const NOTHING_SHARED: &str = "no: LCM has no shared memory";
const OWN_HOST: &str =
    "its datagrams have a time to live of 0 and stay on the host, LCM's default; take profile lan";

/// The longest name of a channel (LCM_MAX_CHANNEL_NAME_LENGTH).
const CHANNEL_BYTES: usize = 63;

impl Middleware for Lcm {
    fn describe(&self) -> Description {
        let version = env!("LCM_VERSION");
        let profile = |name: &str, text: &str, summary: &str| Profile {
            name: name.into(),
            format: "url".into(),
            text: text.trim_end().into(),
            summary: summary.into(),
        };
        Description {
            middleware: "lcm".into(),
            layer: "native".into(),
            version: version.into(),
            release_date: release_date(version).into(),
            build: BTreeMap::from([("source".into(), json!(format!("liblcm {version} of the system")))]),
            capabilities: capabilities(&[
                ("reliable", NOT_RELIABLE),
                ("best_effort", "yes"),
                ("keep_last", KEEP_LAST),
                ("keep_all", KEEP_ALL),
                ("transient_local", NO_HISTORY),
                ("loan", "no: a message is encoded into memory of the caller's"),
                ("zero_copy", "no: every message goes through a socket"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", NO_CALLBACK),
                ("publish_sync", "yes"),
                ("publish_async", SYNCHRONOUS),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", "partly: not with the profiles untouched and tuned, whose datagrams stay on their host"),
                ("content_filter", "no: a subscription selects channels, not messages"),
                ("instance_key", "no: messages are bytes"),
                ("services", "no: LCM has publish and subscribe alone"),
                ("evidence", "yes"),
                ("take_raw", "yes"),
            ]),
            modes: modes(&[
                ("transport", "udp"),
                ("batching", SENT_WHOLE),
                ("congestion", "no: a full socket makes sendmsg wait, and a full reader loses"),
                ("shm_pool_bytes", NOTHING_SHARED),
                ("discovery", "multicast"),
                ("threads", "no: one receives from the socket, and the program's own calls lcm_handle"),
                ("executor", "no: LCM has no executor"),
                ("security", "no: LCM has none"),
                ("compression", "no: LCM sends messages as they are"),
            ]),
            profiles: vec![
                profile("untouched", include_str!("../profiles/untouched.url"), "LCM's default: multicast that stays on the host"),
                profile(
                    "tuned",
                    include_str!("../profiles/tuned.url"),
                    "one host, large messages: the socket buffer LCM's manual asks for",
                ),
                profile("lan", include_str!("../profiles/lan.url"), "as tuned, on the local network too"),
            ],
        }
    }

    fn one_host(&self, profile: &str) -> Option<OneHost> {
        (profile != "lan").then_some(OneHost { reason: OWN_HOST, unless: &[] })
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_options(&[])?;
        config.only_modes(&["transport", "discovery"])?;
        let address = Address::of(config)?;
        let sending = Instance::open(&address.url(0))?;
        let presence = Presence::start(&address.url(1))?;
        Ok(Box::new(LcmSession(Arc::new(Shared {
            address,
            sending,
            presence,
            receiving: Default::default(),
            pumps: Pumps::default(),
        }))))
    }
}

/// The date in LCM's list of releases; empty for a version that is not in this table.
fn release_date(version: &str) -> &'static str {
    match version {
        "1.3.1" => "2016-04-29",
        "1.4.0" => "2018-08-30",
        "1.5.1" => "2024-12-23",
        "1.5.2" => "2025-10-23",
        _ => "",
    }
}

/// The parts of a URL `udpm://GROUP:PORT?OPTIONS`.
#[derive(Debug, PartialEq)]
struct Address {
    group: String,
    port: u16,
    options: BTreeMap<String, String>,
    /// A note about a request that the kernel did not grant.
    note: Option<String>,
}

impl Address {
    fn of(config: &SessionConfig) -> Result<Address, Error> {
        let object = format!("profile {}", config.profile.name);
        let (text, domain) = (config.profile.text.trim(), config.domain_id);
        let invalid = |message: String| Error::invalid(object.clone(), message);
        let Some(rest) = text.strip_prefix("udpm://") else {
            return Err(invalid(format!("expected udpm://GROUP:PORT?OPTIONS, found {text:?}; other providers of LCM are not mapped")));
        };
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (group, port) = place.split_once(':').unwrap_or((place, ""));
        let group = if group.is_empty() { "239.255.76.67" } else { group };
        let port: u16 = if port.is_empty() { "7667" } else { port }
            .parse()
            .map_err(|_| invalid(format!("port {port:?}")))?;
        // A domain has two ports, and the first one of domain 0 is LCM's default.
        let port = u16::try_from(u32::from(port) + 2 * domain)
            .map_err(|_| invalid(format!("domain {domain}: no port is left for it")))?;
        let options = options
            .split(['&', ','])
            .filter_map(|option| option.split_once('='))
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        let mut address = Address { group: group.into(), port, options, note: None };
        if let Some(bytes) =
            address.options.get("recv_buf_size").and_then(|bytes| bytes.parse::<usize>().ok())
        {
            let granted =
                sys::granted_receive_buffer(bytes).map_err(|e| Error::failed("socket", e))?;
            let short = format!("of {bytes} bytes for recv_buf_size the kernel grants {granted}: sysctl -w net.core.rmem_max={bytes}");
            address.note = (granted < bytes).then_some(short);
        }
        Ok(address)
    }

    fn url(&self, offset: u16) -> String {
        let options: Vec<String> =
            self.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("udpm://{}:{}?{}", self.group, self.port + offset, options.join("&"))
    }
}

struct LcmSession(Arc<Shared>);

/// Dropped when the last node and endpoint are gone.
struct Shared {
    address: Address,
    sending: Instance,
    presence: Presence,
    /// The receiving instances for `block` and `poll`; the first reader opens each.
    receiving: [OnceLock<Arc<Receiving>>; 2],
    pumps: Pumps<Reader>,
}

struct Receiving {
    instance: Instance,
    descriptor: RawFd,
    /// The stamp of the message under delivery; 0 while no thread waits for messages.
    notified_ns: AtomicI64,
}

impl Session for LcmSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(LcmNode(self.0.clone())))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(Configuration { format: "url".into(), text: self.0.address.url(0) })
    }
}

/// A node is a name, and LCM has none.
struct LcmNode(Arc<Shared>);

impl LcmNode {
    /// The settings granted to an endpoint, or why its request is refused; and its channel.
    fn granted(&self, config: &EndpointConfig) -> Result<(Granted, CString), Error> {
        let object = format!("endpoint {}", config.endpoint);
        let qos = &config.qos;
        let refusals = [
            (qos.reliability == Reliability::Reliable, format!("reliable: {}", &NOT_RELIABLE[4..])),
            (
                qos.durability == Durability::TransientLocal,
                format!("transient_local: {}", &NO_HISTORY[4..]),
            ),
            (
                qos.content_filter.is_some() || qos.instance_key.is_some(),
                "content filters and instance keys: LCM has neither".into(),
            ),
            (config.loan, "loan: a message is encoded into memory of the caller's".into()),
            (
                config.publish_mode == PublishMode::Async,
                format!("publish_async: {}", &SYNCHRONOUS[4..]),
            ),
            (config.wait == Wait::Callback, format!("wait callback: {}", &NO_CALLBACK[4..])),
            (
                config.topic.len() > CHANNEL_BYTES,
                format!("topic {}: a channel's name has at most 63 bytes", config.topic),
            ),
        ];
        if let Some((_, reason)) = refusals.into_iter().find(|(refused, _)| *refused) {
            return Err(Error::unsupported(object, reason));
        }
        if qos.history == History::KeepLast && !(1..=i32::MAX as u32).contains(&qos.depth) {
            return Err(Error::invalid(
                object,
                format!("depth {}: expected 1 to {}", qos.depth, i32::MAX),
            ));
        }
        let channel = CString::new(config.topic.as_str())
            .map_err(|e| Error::invalid(object, e.to_string()))?;
        let granted = Granted {
            qos: qos.clone(),
            publish_mode: PublishMode::Sync,
            wait: config.wait,
            take: None,
            when_full: None,
            notes: self.0.address.note.iter().cloned().collect(),
        };
        Ok((granted, channel))
    }
}

impl Node for LcmNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        let (mut granted, channel) = self.granted(config)?;
        granted
            .notes
            .push("encoded into a buffer within the call, as a type of lcm-gen is; each message's datagrams are sent at once".into());
        let entry = self.0.presence.enter(Entry::Publisher(config.topic.clone()));
        let encoded = vec![0; config.message_type.payload_bytes as usize];
        Ok(Box::new(LcmPublisher { channel, encoded, granted, entry, session: self.0.clone() }))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        let (mut granted, _) = self.granted(config)?;
        (granted.take, granted.when_full) = match config.take {
            Take::Typed => (Some(TakenAs::Typed), Some(WhenFull::DropsAtReader)),
            Take::Raw => (Some(TakenAs::Raw), Some(WhenFull::DropsAtReader)),
        };
        granted.notes.push(pump::NOTE.into());
        granted.notes.push("one queue for all subscriptions of the process: messages are handled in the order of their arrival".into());
        let place = &self.0.receiving[usize::from(config.wait == Wait::Poll)];
        let receiving = match place.get() {
            Some(receiving) => receiving.clone(),
            None => {
                let instance = Instance::open(&self.0.address.url(0))?;
                let descriptor = instance.descriptor()?;
                place
                    .get_or_init(|| {
                        Arc::new(Receiving { instance, descriptor, notified_ns: AtomicI64::new(0) })
                    })
                    .clone()
            }
        };
        let own = (config.take == Take::Typed)
            .then(|| OwnMemory::of_bytes(config.message_type.payload_bytes as usize));
        let reader = Arc::new(Reader {
            receiving: receiving.clone(),
            sink,
            own,
            messages: AtomicU64::new(0),
        });
        let registration =
            self.0.pumps.add(config.wait, reader.clone(), || Handled::new(receiving.clone()))?;
        let capacity =
            if config.qos.history == History::KeepAll { 0 } else { config.qos.depth as c_int };
        let context = Arc::as_ptr(&reader).cast_mut().cast();
        // SAFETY: `context` lives as long as the registration, which ends after the subscription.
        let subscription = unsafe {
            receiving.instance.subscribe(
                &channel_pattern(&config.topic),
                arrived,
                context,
                capacity,
            )
        };
        let subscription = subscription.ok_or_else(|| {
            Error::failed(format!("endpoint {}", config.endpoint), "lcm_subscribe")
        })?;
        let entry = self.0.presence.enter(Entry::Subscription(config.topic.clone()));
        Ok(Box::new(LcmSubscription {
            subscription,
            registration,
            granted,
            entry,
            session: self.0.clone(),
        }))
    }
}

/// The topic as the regular expression for a subscription, which matches nothing else.
fn channel_pattern(topic: &str) -> CString {
    let escaped = topic.chars().flat_map(|c| {
        (!c.is_alphanumeric() && !"_/-".contains(c)).then_some('\\').into_iter().chain([c])
    });
    CString::new(escaped.collect::<String>()).expect("a topic that was a C string before")
}

struct LcmPublisher {
    channel: CString,
    encoded: Vec<u8>,
    granted: Granted,
    entry: presence::Entered,
    session: Arc<Shared>,
}

impl Publisher for LcmPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        if payload.len() > self.encoded.len() {
            self.encoded.resize(payload.len(), 0); // never for messages of the topic's type
        }
        let encoded = &mut self.encoded[..payload.len()];
        encoded.copy_from_slice(payload);
        self.session.sending.publish(&self.channel, encoded).map_err(|()| PublishError::Failed)
    }
}

impl Endpoint for LcmPublisher {
    fn matched(&self) -> u32 {
        self.session.presence.count(self.entry.peer())
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        Account::default()
    }
}

struct LcmSubscription {
    subscription: sys::Subscription,
    registration: Registration<Reader>,
    granted: Granted,
    entry: presence::Entered,
    session: Arc<Shared>,
}

impl Subscription for LcmSubscription {}

impl Endpoint for LcmSubscription {
    fn matched(&self) -> u32 {
        self.session.presence.count(self.entry.peer())
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    /// LCM counts no drops: only the ledger shows them.
    fn account(&self) -> Account {
        let messages = self.registration.source().messages.load(Ordering::Relaxed);
        let note = "LCM has no other way, also within a process".into();
        Account {
            evidence: vec![Evidence { path: "udp".into(), messages, note }],
            ..Account::default()
        }
    }
}

impl Drop for LcmSubscription {
    fn drop(&mut self) {
        // No call begins after this one, and none is under way after the end of the registration.
        self.registration.source().receiving.instance.unsubscribe(&self.subscription);
        self.registration.end();
    }
}

/// A subscription in its loop. Whichever reader has its turn, LCM delivers the oldest message.
struct Reader {
    receiving: Arc<Receiving>,
    sink: Arc<dyn Sink>,
    /// The memory where a decoder of lcm-gen puts a message; None: taken raw.
    own: Option<OwnMemory>,
    messages: AtomicU64,
}

impl Source for Reader {
    fn take(&self, notified_ns: i64) -> bool {
        self.receiving.notified_ns.store(notified_ns, Ordering::Relaxed);
        self.receiving.instance.handle(0)
    }
}

/// LCM calls this for one message of a subscription, within `lcm_handle`.
unsafe extern "C" fn arrived(
    buffer: *const ReceiveBuffer,
    _channel: *const c_char,
    context: *mut c_void,
) {
    // SAFETY: the context of `subscription`, and a buffer that is valid during this call.
    let (reader, received) = unsafe { (&*context.cast::<Reader>(), (*buffer).bytes()) };
    reader.messages.fetch_add(1, Ordering::Relaxed);
    // SAFETY: only the loop's thread calls `lcm_handle`.
    let payload = reader.own.as_ref().map_or(received, |own| unsafe { own.copy(received) });
    reader.sink.deliver(&Delivery::taken(
        reader.receiving.notified_ns.load(Ordering::Relaxed),
        payload,
        false,
    ));
}

/// Waits on the descriptor of an `lcm_t`, which is readable while its queue has messages.
struct Handled {
    receiving: Arc<Receiving>,
    wake: Arc<OwnedFd>,
    attached: Vec<usize>,
}

impl Handled {
    fn new(receiving: Arc<Receiving>) -> Result<(Handled, Waker), Error> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Error::failed("eventfd", e))?;
        let wake = Arc::new(wake);
        let raised = wake.clone();
        let raise = move || {
            let _ = rustix::io::write(&*raised, &1_u64.to_ne_bytes()); // full: it is already raised
        };
        Ok((Handled { receiving, wake, attached: Vec::new() }, Box::new(raise)))
    }
}

impl WaitSet<Reader> for Handled {
    fn attach(&mut self, _reader: &Arc<Reader>, token: usize) {
        self.attached.push(token);
    }

    fn detach(&mut self, _reader: &Reader, token: usize) {
        self.attached.retain(|attached| *attached != token);
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        // SAFETY: open as long as the instance, which is held here.
        let queue = unsafe { BorrowedFd::borrow_raw(self.receiving.descriptor) };
        let mut waiting = [
            PollFd::new(&*self.wake, PollFlags::IN),
            PollFd::from_borrowed_fd(queue, PollFlags::IN),
        ];
        // Without readers, the rest of the queue belongs to nobody.
        let waiting = &mut waiting[..if self.attached.is_empty() { 1 } else { 2 }];
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(waiting, (!block).then_some(&at_once)).is_err() {
            return; // a signal: the entries are old
        }
        if !waiting[0].revents().is_empty() {
            let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
        }
        if waiting.get(1).is_some_and(|queue| !queue.revents().is_empty()) {
            ready.extend(self.attached.first());
        }
    }
}

#[cfg(test)]
mod tests {
    use rmwbench_conformance::pair;

    use super::*;

    fn address(url: &str, domain_id: u32) -> Result<Address, Error> {
        Address::of(&pair::session(&pair::profile("url", url), domain_id))
    }

    #[test]
    fn a_url_keeps_its_group_and_options_and_each_domain_has_ports_of_its_own() {
        assert_eq!(address("udpm://", 0).unwrap().url(0), "udpm://239.255.76.67:7667?");
        let own = address("udpm://239.1.2.3:9000?ttl=1\n", 2).unwrap();
        assert_eq!(
            [own.url(0), own.url(1)],
            ["udpm://239.1.2.3:9004?ttl=1", "udpm://239.1.2.3:9005?ttl=1"]
        );
        assert!(address("memq://", 0).unwrap_err().message.contains("expected udpm://"));
        assert!(address("udpm://239.1.2.3:x", 0).is_err());
        assert!(address("udpm://:65535", 1).is_err());
    }

    #[test]
    fn a_channel_is_the_topic_and_no_pattern() {
        assert_eq!(channel_pattern("front/camera_1").to_str().unwrap(), "front/camera_1");
        assert_eq!(channel_pattern("a.*").to_str().unwrap(), "a\\.\\*");
    }
}
