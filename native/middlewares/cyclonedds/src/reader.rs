//! A reader: its entity, what it was granted, and where its samples are taken.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use cyclors::*;
use rmwbench_harness::middleware::{
    Account, EndpointConfig, Error, Evidence, Granted, PublishMode, Take, TakenAs, Wait, WhenFull,
};
use rmwbench_harness::pump::{self, Registration};

use crate::entity::Entity;
use crate::filter::{self, Filter};
use crate::intake::{Intake, Listener, Outlet, Watched};
use crate::locals::Heard;
use crate::parents::Parents;
use crate::psmx;
use crate::qos::DdsQos;
use crate::statistics;
use crate::topic;
use crate::wire::Wire;

/// What a reader of callback numbers must know.
const IN_WRITERS_THREAD: &str =
    "a writer of the same process calls the subscription's callback within its publish call";
const RAW: &str = "take raw: read in Cyclone DDS's receive buffer, no deserialiser ran";
const TYPED: &str = "take typed: the payload is copied into the reader's own memory before it is taken, as a deserialiser does";

pub struct Reader {
    /// Dropped first: no take follows. None where Cyclone's own threads deliver.
    _registration: Option<Registration<Watched>>,
    /// Dropped before `intake` and `filter`, whose addresses Cyclone holds: deleting a reader waits
    /// for its listener to return.
    reader: Entity,
    _topic: Entity,
    filter: Option<Box<Filter>>,
    intake: Arc<Intake>,
    granted: Granted,
    parents: Arc<Parents>,
}

/// `config` for a reader whose delivering writes reliably. A listener runs in Cyclone's receive
/// thread, which alone could take the acknowledgements that such a write may have to wait for:
/// `wait: callback` then means a thread of ours, and `block` is granted.
pub fn off_the_receive_thread(config: &EndpointConfig) -> EndpointConfig {
    let wait = if config.wait == Wait::Callback { Wait::Block } else { config.wait };
    EndpointConfig { wait, ..config.clone() }
}

impl Reader {
    pub fn new(
        config: &EndpointConfig,
        wire: &Wire,
        outlet: Box<dyn Outlet>,
        parents: Arc<Parents>,
    ) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let session = &parents.session;
        let filter = Filter::asked(config, wire)?.map(Box::new);
        let topics = filter.as_ref().map_or(session.topics, |filter| filter.topics());
        let qos = parents.qos(config, topics)?.with_user_data(wire.user_data.as_deref());
        let topic = topic::create(session.participant.handle(), topics, &object(), wire)?;
        if let Some(filter) = &filter {
            filter.set(topic.handle(), &object())?;
        }
        let intake =
            Arc::new(Intake::new(config, wire, outlet, Heard::new(session.domain.locals.clone())));
        let listener = (config.wait == Wait::Callback).then(|| Listener::new(&intake));
        let listener = listener.as_ref().map_or(std::ptr::null(), |l| l.0.cast_const());
        // SAFETY: live parent, topic, QoS and listener, which Cyclone copies.
        let handle = unsafe {
            dds_create_reader(parents.subscriber.handle(), topic.handle(), qos.as_ptr(), listener)
        };
        let reader = Entity::owned(handle, || format!("{}: reader", object()))?;
        let mut qos = DdsQos::granted(reader.handle())
            .ok_or_else(|| Error::failed(object(), "its QoS cannot be read back"))?;
        let mut notes = parents.notes(reader.handle(), config, topics);
        if filter.is_some() {
            qos.content_filter.clone_from(&config.qos.content_filter);
            notes.push(filter::NOTE.into());
        }
        if config.wait == Wait::Callback {
            notes.push(IN_WRITERS_THREAD.into());
        } else {
            notes.push(pump::NOTE.into());
        }
        let take = match config.take {
            _ if psmx::in_use(reader.handle()) => TakenAs::Lent,
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
        let when_full = WhenFull::of_dds_reader(&qos);
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Default,
            wait: config.wait,
            take: Some(take),
            when_full,
            notes,
        };
        Ok(Reader {
            _registration: registration,
            reader,
            _topic: topic,
            filter,
            intake,
            granted,
            parents: parents.clone(),
        })
    }

    /// Writers matched now.
    pub fn matched(&self) -> u32 {
        // SAFETY: fills a plain struct.
        unsafe {
            let mut status = std::mem::zeroed::<dds_subscription_matched_status_t>();
            dds_get_subscription_matched_status(self.reader.handle(), &mut status);
            status.current_count
        }
    }

    pub fn granted(&self) -> Granted {
        self.granted.clone()
    }

    pub fn account(&self) -> Account {
        let mut counters = statistics::of(self.reader.handle());
        // SAFETY: fill plain structs.
        let (lost, rejected) = unsafe {
            let mut lost = std::mem::zeroed::<dds_sample_lost_status_t>();
            let mut rejected = std::mem::zeroed::<dds_sample_rejected_status_t>();
            dds_get_sample_lost_status(self.reader.handle(), &mut lost);
            dds_get_sample_rejected_status(self.reader.handle(), &mut rejected);
            (lost.total_count, rejected.total_count)
        };
        // Cyclone counts what never reached the reader's cache, not what keep-last overwrote there:
        // that only the ledger shows.
        counters.insert("sample_lost".into(), lost.into());
        counters.insert("sample_rejected".into(), rejected.into());
        counters.insert("malformed".into(), self.intake.malformed.load(Ordering::Relaxed) as i64);
        counters.extend(self.filter.iter().flat_map(|filter| filter.counters()));
        Account {
            reader_drops: Some(u64::from(lost) + u64::from(rejected)),
            counters,
            evidence: self.evidence(),
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        let said = |path: &str, messages, note: &str| Evidence {
            path: path.into(),
            messages,
            note: note.into(),
        };
        // Also when none came that way: what Cyclone does not vouch for then went elsewhere,
        // whatever segments are mapped.
        if self.parents.session.domain.psmx {
            let shared = self.intake.shared.load(Ordering::Relaxed);
            evidence.push(said(
                "shm",
                shared,
                "read in the chunk of shared memory that the writer filled",
            ));
        }
        let local = self.intake.local.load(Ordering::Relaxed);
        if local > 0 {
            evidence.push(said(
                "intra_process",
                local,
                "written in this process, delivered by Cyclone within its domain",
            ));
        }
        evidence
    }
}
