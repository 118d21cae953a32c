//! A reader: its entity, its granted settings, and the place where its messages are taken.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, EndpointConfig, Error, Evidence, Granted, PublishMode, Take, TakenAs, Wait, WhenFull,
};
use rmwbench_harness::pump::{self, Registration};
use rmwbench_harness::qos::Reliability;

use crate::domain::Settings;
use crate::entity::Entity;
use crate::intake::{Deliver, Intake, Listener, Watched};
use crate::qos;
use crate::release::{self, Release, Side, Topic};
use crate::session::Parents;
use crate::statistics;
use crate::sys::{self, Lost, Matched, Rejected};
use crate::wire::Wire;

const RAW: &str = "take raw: read in Cyclone DDS's receive buffer, no deserialiser ran";
const TYPED: &str = "take typed: the payload is copied into the reader's own memory before it is taken, as a deserialiser does";

pub struct Reader<R: Release> {
    /// This is dropped first: no take follows. None if Cyclone's own threads deliver.
    _registration: Option<Registration<Watched<R::Message>>>,
    /// Dropped before `intake` and `topic`, whose addresses Cyclone holds: deleting a reader waits
    /// for its listener to return.
    reader: Entity,
    topic: Topic<R>,
    intake: Arc<Intake<R::Message>>,
    granted: Granted,
    /// Cyclone counts messages lost on the way to its cache, but not those lost in the queues of
    /// shared memory.
    counts_drops: bool,
    parents: Arc<Parents<R>>,
}

/// Errors: `wait: callback` of a reader whose delivery writes in a call that may wait for
/// acknowledgements. A listener runs in Cyclone's receive thread, and only that thread could take
/// them. Only a keep_all writer waits: for a keep_last writer Cyclone has no watermark (`whc_high`
/// of `ddsi_endpoint.c`).
pub fn refuse_waiting_in_the_receive_thread(
    config: &EndpointConfig,
    may_wait: bool,
) -> Result<(), Error> {
    if config.wait != Wait::Callback || !may_wait {
        return Ok(());
    }
    let why = "wait callback: it would write with keep_all in Cyclone DDS's receive thread, and wait there for acknowledgements that only this thread takes";
    Err(Error::unsupported(format!("endpoint {}", config.endpoint), why))
}

impl<R: Release> Reader<R> {
    pub fn new(
        config: &EndpointConfig,
        wire: &Wire,
        deliver: Deliver,
        parents: Arc<Parents<R>>,
    ) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let session = &parents.session;
        let dds_qos = R::qos(&parents, config, Side::Reader)?;
        if let Some(text) = &wire.user_data {
            R::set_user_data(&dds_qos, text);
        }
        let topic = R::topic(&parents, config, wire, Side::Reader)?;
        let intake = Arc::new(Intake::new(config, wire, deliver, R::heard(&parents)));
        let listener = (config.wait == Wait::Callback).then(|| Listener::new(&intake));
        let listener = listener.as_ref().map_or(std::ptr::null(), |l| l.0.cast_const());
        // SAFETY: live parent, topic, QoS and listener, which Cyclone copies.
        let handle = unsafe {
            sys::dds_create_reader(
                parents.subscriber.handle(),
                topic.entity.handle(),
                dds_qos.as_ptr(),
                listener,
            )
        };
        let reader = Entity::owned(handle, || format!("{}: reader", object()))?;
        let qos = qos::granted(reader.handle(), config)?;
        let lent = release::in_shared_memory(&parents, reader.handle());
        let most_held = if lent { R::HELD_IN_SHARED_MEMORY } else { None };
        let mut notes = release::notes(&parents, reader.handle(), config, Side::Reader);
        if config.wait == Wait::Callback {
            notes.extend([R::IN_WRITERS_THREAD.into(), pump::DRAIN_NOTE.into()]);
        } else {
            notes.push(pump::NOTE.into());
        }
        let take = match config.take {
            _ if lent => TakenAs::Lent,
            Take::Raw => TakenAs::Raw,
            Take::Typed => TakenAs::Typed,
        };
        notes.extend(match take {
            TakenAs::Raw => Some(RAW.into()),
            TakenAs::Typed => Some(TYPED.into()),
            TakenAs::Lent => None,
        });
        let registration = match config.wait {
            Wait::Callback => None,
            wait => Some(session.watch(wait, Watched::new(reader.handle(), intake.clone())?)?),
        };
        // It does not make writers wait there.
        let when_full =
            most_held.map_or(WhenFull::of_dds_reader(&qos), |_| Some(WhenFull::DropsAtReader));
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Default,
            wait: config.wait,
            take: Some(take),
            when_full,
            notes,
        };
        let counts_drops = most_held.is_none();
        Ok(Reader {
            _registration: registration,
            reader,
            topic,
            intake,
            granted,
            counts_drops,
            parents,
        })
    }

    /// The number of writers matched now.
    pub fn matched(&self) -> u32 {
        let mut status = Matched::default();
        // SAFETY: fills a plain struct.
        unsafe { sys::dds_get_subscription_matched_status(self.reader.handle(), &mut status) };
        status.current_count
    }

    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    pub fn account(&self) -> Account {
        let mut counters = statistics::of(self.reader.handle());
        let (mut lost, mut rejected) = (Lost::default(), Rejected::default());
        // SAFETY: fill plain structs.
        unsafe {
            sys::dds_get_sample_lost_status(self.reader.handle(), &mut lost);
            sys::dds_get_sample_rejected_status(self.reader.handle(), &mut rejected);
        }
        let (lost, rejected) = (lost.total_count, rejected.total_count);
        // Cyclone counts messages that never reached the reader's cache, not those that keep-last
        // overwrote there: only the ledger shows these.
        counters.insert("sample_lost".into(), lost.into());
        counters.insert("sample_rejected".into(), rejected.into());
        counters.insert("malformed".into(), self.intake.malformed.load(Ordering::Relaxed) as i64);
        counters.extend(R::reader_counters(&self.topic.release_data));
        // The evidence is given even if no message came that way: messages for which Cyclone gives
        // none went another way, whatever segments are mapped.
        let shared = self.parents.session.domain.settings.shared_memory().then(|| Evidence {
            path: "shm".into(),
            messages: self.intake.shared.load(Ordering::Relaxed),
            note: "read in the chunk of shared memory that the writer filled".into(),
        });
        // A message for which a reliable reader has no room is sent again.
        let refused = match self.granted.qos.reliability {
            Reliability::Reliable => 0,
            Reliability::BestEffort => u64::from(rejected),
        };
        Account {
            reader_drops: self.counts_drops.then(|| u64::from(lost) + refused),
            counters,
            evidence: shared.into_iter().chain(R::evidence(&self.intake.heard)).collect(),
        }
    }
}
