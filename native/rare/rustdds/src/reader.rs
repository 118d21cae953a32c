//! A reader: the harness's receive loop takes from it, one message after the other.

use std::cell::RefCell;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishMode, Sink, TakenAs, Wait,
    WhenFull,
};
use rmwbench_harness::pump::{self, Registration, Source};
use rustdds::no_key::SimpleDataReader;
use rustdds::{DataReaderStatus, SampleIdentity, StatusEvented as _};

use crate::history::{History, Message};
use crate::peers::{Card, Side};
use crate::qos;
use crate::raw::{CopyTo, Layout, Raw};
use crate::session::Shared;
use crate::watch::{StatusRegistration, StatusSource};

const TYPED: &str =
    "take typed: the payload is copied once, from RustDDS's receive buffer into the reader's own memory, as a deserialiser does";
const KEEPS_LAST: &str =
    "RustDDS's cache of a topic has room for 64 messages and more whatever the depth: what is there is taken into a history of the depth, as RustDDS's DataReader does; full, it drops its oldest";
const KEEPS_ALL: &str =
    "keep_all: what exceeds max_samples in RustDDS's cache of the topic is lost, and no writer waits for it";

/// Where a reader's messages go.
pub trait Outlet: Send {
    fn sample(&self, sample: &Sample<'_>);
}

pub struct Sample<'a> {
    /// The message without its encapsulation header.
    pub body: &'a [u8],
    pub delivery: Delivery<'a>,
    /// Its writer, and its number there.
    pub identity: SampleIdentity,
    /// The request that it answers, if its writer sent that beside the data.
    pub related: Option<SampleIdentity>,
}

impl Outlet for Arc<dyn Sink> {
    fn sample(&self, sample: &Sample<'_>) {
        self.deliver(&sample.delivery);
    }
}

pub struct Reader {
    /// This is dropped first: no take follows.
    registration: Registration<Inner>,
    _status_registration: StatusRegistration,
    granted: Granted,
    card: Card,
    shared: Arc<Shared>,
}

/// The part of a reader that its loop uses.
pub struct Inner {
    /// The number by which RustDDS's events name it.
    pub number: usize,
    reader: SimpleDataReader<(), Raw>,
    /// Only the loop's thread uses it.
    intake: Mutex<Intake>,
    taken: AtomicU64,
    /// The number of messages with another type or encoding under our name.
    malformed: AtomicU64,
    /// The number of messages that RustDDS reports as lost; absent until it reports any.
    lost: AtomicI32,
    incompatible: AtomicI32,
}

struct Intake {
    outlet: Box<dyn Outlet>,
    layout: Layout,
    history: History,
}

impl Reader {
    pub fn create(
        config: &EndpointConfig,
        topic: &str,
        message_type: &MessageType,
        header_bytes: usize,
        outlet: Box<dyn Outlet>,
        shared: &Arc<Shared>,
    ) -> Result<Reader, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.wait == Wait::Callback {
            return Err(Error::unsupported(
                object(),
                "wait callback: RustDDS has wakers and event sources, no listeners",
            ));
        }
        let policies = qos::policies(config, &shared.limits)?;
        let number = shared.status_thread.number();
        let card = Card::new(number, Side::Reader, topic, message_type, &policies);
        let topic = shared.topic(topic, message_type, &policies, &object())?;
        let reader =
            shared.subscriber.create_simple_datareader_no_key::<(), Raw>(&topic, Some(policies));
        let mut reader = reader.map_err(|e| Error::failed(object(), e))?;
        let failed = |e: std::io::Error| Error::failed(object(), e);
        shared.status_thread.register(reader.as_status_source_mio1(), number).map_err(failed)?;
        if config.wait != Wait::Poll {
            shared.readers.register(&mut reader, number).map_err(failed)?;
        }
        let qos = qos::granted(reader.qos());
        let depth =
            (qos.history == rmwbench_harness::qos::History::KeepLast).then_some(qos.depth as usize);
        let of_history = if depth.is_some() { KEEPS_LAST } else { KEEPS_ALL };
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Async,
            wait: config.wait,
            take: Some(TakenAs::Typed),
            // RustDDS acknowledges a message when it is received, not when it is taken: no writer
            // waits.
            when_full: Some(WhenFull::DropsAtReader),
            notes: vec![pump::NOTE.into(), TYPED.into(), of_history.into()],
        };
        let intake = Intake {
            outlet,
            layout: Layout::new(message_type, header_bytes),
            history: History::new(depth, message_type.cdr_bytes() + header_bytes),
        };
        let inner = Arc::new(Inner {
            number,
            reader,
            intake: Mutex::new(intake),
            taken: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            lost: AtomicI32::new(0),
            incompatible: AtomicI32::new(0),
        });
        let status_registration =
            shared.status_thread.begin(number, inner.clone()).map_err(failed)?;
        let registration = shared.readers.add(config.wait, inner)?;
        shared.peers.enter(card.clone());
        Ok(Reader {
            registration,
            _status_registration: status_registration,
            granted,
            card,
            shared: shared.clone(),
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.peers.leave(self.card.number);
    }
}

impl Inner {
    /// Clears the notifications: only a message that comes after this wakes the loop.
    pub fn drain_notifications(&self) {
        self.reader.drain_read_notifications();
    }

    /// Takes RustDDS's next message into `history`; returns whether there was one.
    fn take_into(&self, history: &mut History) -> bool {
        let body = RefCell::new(history.memory());
        let taken = loop {
            match self.reader.try_take_one_with(CopyTo(&body)) {
                Ok(taken) => break taken,
                Err(_) => drop(self.malformed.fetch_add(1, Ordering::Relaxed)),
            }
        };
        let body = body.into_inner();
        let Some(change) = taken else {
            history.give_back(body);
            return false;
        };
        let identity = SampleIdentity {
            writer_guid: change.writer_guid,
            sequence_number: change.sequence_number,
        };
        let related = change.write_options.related_sample_identity();
        history.push(Message { body, identity, related });
        true
    }
}

impl Source for Inner {
    fn take(&self, notified_ns: i64) -> bool {
        if notified_ns == 0 {
            self.drain_notifications(); // RustDDS's manual requires it before each take
        }
        let mut intake = self.intake.lock().expect("a delivery panicked");
        let Intake { outlet, layout, history } = &mut *intake;
        for _ in 0..history.at_once() {
            if !self.take_into(history) {
                break;
            }
        }
        let Some(message) = history.pop() else { return false };
        match layout.payload(&message.body) {
            Some(payload) => {
                self.taken.fetch_add(1, Ordering::Relaxed);
                outlet.sample(&Sample {
                    body: &message.body,
                    delivery: Delivery::taken(notified_ns, payload, false),
                    identity: message.identity,
                    related: message.related,
                });
            }
            None => drop(self.malformed.fetch_add(1, Ordering::Relaxed)),
        }
        history.give_back(message.body);
        true
    }
}

impl StatusSource for Inner {
    fn read_status_events(&self) {
        while let Some(status) = self.reader.try_recv_status() {
            match status {
                DataReaderStatus::SampleLost { count } => {
                    self.lost.store(count.count(), Ordering::Relaxed)
                }
                DataReaderStatus::RequestedIncompatibleQos { count, .. } => {
                    self.incompatible.store(count.count(), Ordering::Relaxed)
                }
                _ => {}
            }
        }
    }
}

impl trait_::Endpoint for Reader {
    fn matched(&self) -> u32 {
        self.shared.peers.matched(&self.card, &self.shared.participant)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let inner = self.registration.source();
        let taken = inner.taken.load(Ordering::Relaxed);
        let mut counters = std::collections::BTreeMap::from([
            ("malformed".to_string(), inner.malformed.load(Ordering::Relaxed) as i64),
            ("incompatible_qos".to_string(), i64::from(inner.incompatible.load(Ordering::Relaxed))),
        ]);
        let lost = inner.lost.load(Ordering::Relaxed);
        if lost > 0 {
            counters.insert("sample_lost".into(), i64::from(lost));
        }
        let evidence = Evidence {
            path: "udp".into(),
            messages: taken,
            note: "RustDDS has no transport but UDP".into(),
        };
        Account {
            reader_drops: None,
            counters,
            evidence: if taken > 0 { vec![evidence] } else { Vec::new() },
        }
    }
}

impl trait_::Subscription for Reader {}
