//! A reader: takes messages one by one, in the session's thread.

use std::cell::RefCell;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishMode, Sink, TakenAs, Wait,
    WhenFull,
};
use rustdds::no_key::SimpleDataReader;
use rustdds::{DataReaderStatus, SampleIdentity, StatusEvented as _};

use crate::peers::{Card, Side};
use crate::qos;
use crate::raw::{CopyTo, Layout, Raw};
use crate::session::Shared;
use crate::watch::{Watched, Watching};

/// Where a reader's messages go.
pub trait Outlet: Send {
    fn sample(&self, sample: &Sample<'_>);
}

pub struct Sample<'a> {
    /// The message less its encapsulation header.
    pub body: &'a [u8],
    pub delivery: Delivery<'a>,
    /// Who wrote it, and which of its messages it is.
    pub identity: SampleIdentity,
    /// The request that it answers, where its writer told that beside the data.
    pub related: Option<SampleIdentity>,
}

impl Outlet for Arc<dyn Sink> {
    fn sample(&self, sample: &Sample<'_>) {
        self.deliver(&sample.delivery);
    }
}

pub struct Reader {
    _watching: Watching,
    inner: Arc<Inner>,
    granted: Granted,
    card: Card,
    shared: Arc<Shared>,
}

struct Inner {
    reader: SimpleDataReader<(), Raw>,
    /// None once the subscription is dropped; locked while it delivers.
    intake: Mutex<Option<Intake>>,
    taken: AtomicU64,
    /// Of another type or encoding under our name.
    malformed: AtomicU64,
    /// What RustDDS says that it lost; absent until it says so.
    lost: AtomicI32,
    incompatible: AtomicI32,
}

struct Intake {
    outlet: Box<dyn Outlet>,
    layout: Layout,
    /// Used again for each message.
    body: RefCell<Vec<u8>>,
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
        let policies = qos::asked(config, &shared.limits)?;
        let number = shared.watch.number();
        let card = Card::new(number, Side::Reader, topic, message_type, &policies);
        let topic = shared.topic(topic, message_type, &policies, &object())?;
        let reader =
            shared.subscriber.create_simple_datareader_no_key::<(), Raw>(&topic, Some(policies));
        let mut reader = reader.map_err(|e| Error::failed(object(), e))?;
        let failed = |e: std::io::Error| Error::failed(object(), e);
        shared.watch.register_statuses(reader.as_status_source_mio1(), number).map_err(failed)?;
        if config.wait != Wait::Poll {
            shared.watch.register_data(&mut reader, number).map_err(failed)?;
        }
        let granted = Granted {
            qos: qos::granted(reader.qos()),
            publish_mode: PublishMode::Async,
            wait: config.wait,
            take: Some(TakenAs::Typed),
            when_full: WhenFull::of_dds_reader(&qos::granted(reader.qos())),
            notes: vec!["each message is copied once, from RustDDS's receive buffer".into()],
        };
        let intake = Intake {
            outlet,
            layout: Layout::new(message_type, header_bytes),
            body: RefCell::new(Vec::with_capacity(message_type.cdr_bytes() + header_bytes)),
        };
        let inner = Arc::new(Inner {
            reader,
            intake: Mutex::new(Some(intake)),
            taken: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            lost: AtomicI32::new(0),
            incompatible: AtomicI32::new(0),
        });
        let watching = shared.watch.begin(number, inner.clone(), config.wait).map_err(failed)?;
        shared.peers.enter(card.clone());
        Ok(Reader { _watching: watching, inner, granted, card, shared: shared.clone() })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.peers.leave(self.card.number);
        // Waits for a delivery that runs; none comes after.
        self.inner.intake.lock().expect("a delivery panicked").take();
    }
}

impl Watched for Inner {
    fn take(&self, notified_ns: Option<i64>) {
        let guard = self.intake.lock().expect("a delivery panicked");
        let Some(intake) = guard.as_ref() else { return };
        self.reader.drain_read_notifications();
        loop {
            match self.reader.try_take_one_with(CopyTo(&intake.body)) {
                Ok(None) => return,
                Ok(Some(change)) => {
                    let body = intake.body.borrow();
                    let Some(payload) = intake.layout.payload(&body) else {
                        self.malformed.fetch_add(1, Ordering::Relaxed);
                        continue;
                    };
                    self.taken.fetch_add(1, Ordering::Relaxed);
                    let delivery = Delivery::taken(notified_ns.unwrap_or(0), payload, false);
                    intake.outlet.sample(&Sample {
                        body: &body,
                        delivery,
                        identity: SampleIdentity {
                            writer_guid: change.writer_guid,
                            sequence_number: change.sequence_number,
                        },
                        related: change.write_options.related_sample_identity(),
                    });
                }
                Err(_) => drop(self.malformed.fetch_add(1, Ordering::Relaxed)),
            }
        }
    }

    fn statuses(&self) {
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
        let taken = self.inner.taken.load(Ordering::Relaxed);
        let mut counters = std::collections::BTreeMap::from([
            ("malformed".to_string(), self.inner.malformed.load(Ordering::Relaxed) as i64),
            (
                "incompatible_qos".to_string(),
                i64::from(self.inner.incompatible.load(Ordering::Relaxed)),
            ),
        ]);
        let lost = self.inner.lost.load(Ordering::Relaxed);
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
