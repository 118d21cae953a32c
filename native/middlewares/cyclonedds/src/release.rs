//! The parts of the worker that are specific to release 11: topics of two kinds ([`topic`]), of
//! which one uses its shared-memory exchange ([`psmx`]); content filters ([`filter`]), batches
//! ([`batch`]), and evidence of messages that never left the process ([`locals`]).

use std::ffi::c_void;
use std::time::Duration;

use cyclors::*;
use rmwbench_cyclone::entity::guid;
use rmwbench_cyclone::qos::DdsQos;
use rmwbench_cyclone::release::{Release, Side, Topic};
use rmwbench_cyclone::session::{Parents, Types};
use rmwbench_cyclone::sys::{Handle, Part};
use rmwbench_cyclone::wire::Wire;
use rmwbench_harness::middleware::{
    EndpointConfig, Error, Evidence, Granted, PublishMode, SessionConfig,
};

use crate::batch::{self, Batched, Batches};
use crate::filter::{self, Filter};
use crate::limits::Limits;
use crate::locals::{Heard, Local};
use crate::psmx;
use crate::sample::Sample;
use crate::settings::Settings;
use crate::topic::{self, Kind};

/// The data of a session from which its endpoints are made.
pub struct Session {
    /// None: every write sends at once.
    batches: Option<Batches>,
    /// None: the kind that the exchange accepts, if the configuration has an exchange.
    topics: Option<Kind>,
    limits: Limits,
}

pub struct ThisRelease;

impl Types for ThisRelease {
    type Settings = Settings;
    type Message = Sample;
    type Session = Session;

    fn session(config: &SessionConfig) -> Result<Session, Error> {
        let topics = config.option("topic", None)?;
        let limits = Limits::from_config(config)?;
        let period =
            Duration::from_micros(config.option(batch::PERIOD, batch::DEFAULT_PERIOD_US)?.max(1));
        let batches = match config.mode("batching")? {
            Some(true) => Some(Batches::start(period)?),
            _ => None,
        };
        Ok(Session { batches, topics, limits })
    }
}

/// The kind of the session's topics.
fn topics(parents: &Parents<ThisRelease>) -> Kind {
    let by_default =
        if parents.session.domain.settings.psmx { Kind::Descriptor } else { Kind::Blob };
    parents.session.release_data.topics.unwrap_or(by_default)
}

/// The kind of topic of an endpoint.
fn kind(parents: &Parents<ThisRelease>, config: &EndpointConfig, side: Side) -> Kind {
    match side {
        Side::Reader if config.qos.content_filter.is_some() => filter::TOPICS,
        _ => topics(parents),
    }
}

impl Release for ThisRelease {
    /// The filter of a reader that has one: Cyclone holds its address.
    type Topic = Option<Box<Filter>>;
    type Writer = (Option<Batched>, Local);

    const IN_WRITERS_THREAD: &'static str =
        "a writer of the same process calls the subscription's callback within its publish call";
    const OTHERS_WITH_HEADERS: bool = true;
    const HELD_IN_SHARED_MEMORY: Option<u32> = Some(psmx::HELD_LIMIT);

    /// A blob reader must not even listen to PSMX: cyclors' serialiser frees memory that is not its
    /// own when a described writer's message reaches it that way.
    fn qos(parents: &Parents<Self>, config: &EndpointConfig, side: Side) -> Result<DdsQos, Error> {
        if let Some(expression) = &config.qos.content_filter {
            filter::percent(expression, config.endpoint)?;
        }
        let (session, settings) = (&parents.session.release_data, &parents.session.domain.settings);
        let dds_qos = session.limits.qos(config)?;
        let qos = dds_qos.as_ptr().cast();
        match kind(parents, config, side) {
            Kind::Descriptor => settings.check_roudi(&format!("endpoint {}", config.endpoint))?,
            // SAFETY: the pointer is ours; no instances, so no names are read.
            Kind::Blob if settings.psmx => unsafe {
                dds_qset_psmx_instances(qos, 0, std::ptr::null_mut())
            },
            Kind::Blob => (),
        }
        if side == Side::Writer && session.batches.is_some() {
            // SAFETY: the pointer is ours.
            unsafe { dds_qset_writer_batching(qos, true) };
        }
        Ok(dds_qos)
    }

    fn topic(
        parents: &Parents<Self>,
        config: &EndpointConfig,
        wire: &Wire,
        side: Side,
    ) -> Result<Topic<Self>, Error> {
        let object = format!("endpoint {}", config.endpoint);
        let filter = match side {
            Side::Reader => Filter::from_config(config, wire)?.map(Box::new),
            Side::Writer => None,
        };
        let participant = parents.session.participant.handle();
        let entity = topic::create(participant, kind(parents, config, side), &object, wire)?;
        if let Some(filter) = &filter {
            filter.set(entity.handle(), &object)?;
        }
        Ok(Topic { entity, release_data: filter })
    }

    fn set_user_data(qos: &DdsQos, text: &str) {
        // SAFETY: the pointer is ours; Cyclone copies the bytes.
        unsafe { dds_qset_userdata(qos.as_ptr().cast(), text.as_ptr().cast(), text.len()) };
    }

    fn not_shared(parents: &Parents<Self>, config: &EndpointConfig, side: Side) -> String {
        psmx::reason(kind(parents, config, side), config)
    }

    fn surprises(config: &EndpointConfig) -> Vec<String> {
        psmx::surprises(config)
    }

    fn lends(parents: &Parents<Self>, writer: Handle) -> bool {
        // SAFETY: a plain call on a live entity.
        topics(parents) == Kind::Descriptor && unsafe { dds_is_loan_available(writer) }
    }

    fn complete_writer(
        parents: &Parents<Self>,
        _: &EndpointConfig,
        _: &Wire,
        writer: Handle,
        notes: &mut Vec<String>,
    ) -> Result<Self::Writer, Error> {
        let batches = parents.session.release_data.batches.as_ref();
        notes.extend(batches.map(Batches::note));
        let local = parents.session.domain.settings.locals.add(Self::client_number(writer));
        Ok((batches.map(|batches| batches.add(writer)), local))
    }

    fn writer_type(writer: Handle, _: &Self::Topic) -> Result<*const c_void, i32> {
        let mut sertype = std::ptr::null();
        // SAFETY: writes one pointer.
        match unsafe { dds_get_entity_sertype(writer, &mut sertype) } {
            0 => Ok(sertype.cast()),
            code => Err(code),
        }
    }

    #[inline]
    unsafe fn write(writer: Handle, writer_type: *const c_void, parts: &[Part]) -> i32 {
        let bytes = parts.iter().map(|part| part.size).sum();
        // SAFETY: as the caller promises; a part is an iovec. The write takes over the reference to
        // the sample.
        unsafe {
            let sample = ddsi_serdata_from_ser_iov(
                writer_type.cast(),
                ddsi_serdata_kind_SDK_DATA,
                parts.len(),
                parts.as_ptr().cast(),
                bytes,
            );
            dds_writecdr(writer, sample)
        }
    }

    #[inline]
    unsafe fn loan(writer: Handle, sample: *mut *mut c_void) -> i32 {
        // SAFETY: as the caller promises.
        unsafe { dds_request_loan(writer, sample) }
    }

    fn heard(parents: &Parents<Self>) -> Heard {
        Heard::new(parents.session.domain.settings.locals.clone())
    }

    fn evidence(heard: &Heard) -> Option<Evidence> {
        let messages = heard.messages();
        (messages > 0).then(|| Evidence {
            path: "intra_process".into(),
            messages,
            note: "written in this process, delivered by Cyclone within its domain".into(),
        })
    }

    fn reader_counters(filter: &Self::Topic) -> Vec<(String, i64)> {
        filter.iter().flat_map(|filter| filter.counters()).collect()
    }

    /// The writer's instance handle, by which readers of this process know it, too.
    fn client_number(writer: Handle) -> u64 {
        let mut instance = 0;
        // SAFETY: writes one value; it cannot fail for a live writer.
        unsafe { dds_get_instance_handle(writer, &mut instance) };
        instance
    }

    /// By this rmw_cyclonedds knows which reader belongs to which writer: it answers a client only
    /// when it has matched both.
    fn user_data(key: &str, config: &EndpointConfig, parents: &Parents<Self>) -> Option<String> {
        let mut id = guid(parents.session.participant.handle());
        id[12..].copy_from_slice(&config.endpoint.to_be_bytes());
        let id: Vec<String> = id.iter().map(|byte| format!("{byte:x}")).collect();
        Some(format!("{key}={};", id.join(".")))
    }

    fn client_granted(requests: &Granted, replies: &Granted) -> Granted {
        granted(requests, replies)
    }

    fn service_granted(requests: &Granted, replies: &Granted) -> Granted {
        granted(replies, requests)
    }
}

fn granted(writer: &Granted, reader: &Granted) -> Granted {
    let mut granted = Granted { publish_mode: PublishMode::Sync, ..reader.clone() };
    let known = |note: &&String| !reader.notes.contains(note);
    granted.notes.extend(writer.notes.iter().filter(known).cloned());
    granted
}
