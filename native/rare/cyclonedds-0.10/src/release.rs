//! The parts of the worker that are specific to release 0.10: topics of this worker's raw type
//! (`shim/type.c`), whose messages have only their body in shared memory.

use std::ffi::c_void;

use rmwbench_cyclone::entity::{c_string, guid, Entity};
use rmwbench_cyclone::intake::{Message, Taken};
use rmwbench_cyclone::qos::DdsQos;
use rmwbench_cyclone::release::{Release, Side, Topic};
use rmwbench_cyclone::session::{Parents, Types};
use rmwbench_cyclone::sys::{dds_is_loan_available, Handle, Part, INFINITE_NS};
use rmwbench_cyclone::wire::{Wire, ENCAPSULATION_BYTES};
use rmwbench_harness::middleware::{EndpointConfig, Error, Granted, SessionConfig};

use crate::settings::Settings;
use crate::{shared_memory, sys};

/// The bytes before a message in its chunk: iceoryx's header and Cyclone's, rounded up generously.
const CHUNK_HEADERS_BYTES: usize = 256;

pub struct ThisRelease;

impl Types for ThisRelease {
    type Settings = Settings;
    type Message = RawMessage;
    type Session = ();

    fn session(_: &SessionConfig) -> Result<(), Error> {
        Ok(())
    }
}

/// The type that writes a topic's messages; the topic keeps it alive.
pub struct WriterType(*const c_void);

// SAFETY: Cyclone's calls with it may come from any thread.
unsafe impl Send for WriterType {}
// SAFETY: as above.
unsafe impl Sync for WriterType {}

impl Release for ThisRelease {
    type Topic = WriterType;
    type Writer = ();

    const IN_WRITERS_THREAD: &'static str =
        "over UDP a writer of the same process calls the callback within its publish call";
    const OTHERS_WITH_HEADERS: bool = false;

    fn qos(_: &Parents<Self>, config: &EndpointConfig, _: Side) -> Result<DdsQos, Error> {
        if config.qos.content_filter.is_some() {
            return Err(Error::unsupported(
                format!("endpoint {}", config.endpoint),
                "content filter: Cyclone DDS filters by a C function on typed samples",
            ));
        }
        let qos = DdsQos::from_config(config, INFINITE_NS)?;
        // Both are set explicitly: shared memory needs a QoS that states them.
        // SAFETY: the pointer is ours and every value is within its enumeration.
        unsafe {
            sys::dds_qset_liveliness(qos.as_ptr(), sys::LIVELINESS_AUTOMATIC, INFINITE_NS);
            sys::dds_qset_deadline(qos.as_ptr(), INFINITE_NS);
        }
        Ok(qos)
    }

    fn topic(
        parents: &Parents<Self>,
        config: &EndpointConfig,
        wire: &Wire,
        _: Side,
    ) -> Result<Topic<Self>, Error> {
        let (object, message_type) = (format!("endpoint {}", config.endpoint), &wire.message_type);
        let invalid =
            |what: &str| Error::invalid(&object, format!("type {} {what}", message_type.name));
        if message_type.cdr_prefix.len() < ENCAPSULATION_BYTES {
            return Err(invalid("has no encapsulation header"));
        }
        let topic = c_string(&wire.topic, "topic name")?;
        let type_name = c_string(&message_type.dds_type_name(), "type name")?;
        let bytes = u32::try_from(wire.body_bytes()).map_err(|_| invalid("is too large"))?;
        let mut writer_type = std::ptr::null();
        // SAFETY: the strings outlive the call, which copies them.
        let handle = unsafe {
            sys::rmwbench_topic(
                parents.session.participant.handle(),
                topic.as_ptr(),
                type_name.as_ptr(),
                bytes,
                &mut writer_type,
            )
        };
        let what = || format!("{object}: topic {topic:?} of type {type_name:?}");
        Ok(Topic { entity: Entity::owned(handle, what)?, release_data: WriterType(writer_type) })
    }

    fn not_shared(_: &Parents<Self>, config: &EndpointConfig, _: Side) -> String {
        shared_memory::reason(config)
    }

    fn surprises(config: &EndpointConfig) -> Vec<String> {
        shared_memory::surprises(config)
    }

    fn lends(_: &Parents<Self>, writer: Handle) -> bool {
        // SAFETY: a plain call on a live entity.
        unsafe { dds_is_loan_available(writer) }
    }

    /// There is no further data, but iceoryx would end a process that requests a chunk larger than
    /// its largest.
    fn complete_writer(
        parents: &Parents<Self>,
        config: &EndpointConfig,
        wire: &Wire,
        writer: Handle,
        _: &mut Vec<String>,
    ) -> Result<(), Error> {
        let (bytes, largest) = (wire.cdr_bytes(), parents.session.domain.settings.largest_chunk);
        if Self::lends(parents, writer) && (bytes + CHUNK_HEADERS_BYTES) as u64 > largest {
            let message =
                format!("{bytes} bytes: RouDi's largest chunks have {largest}; the option roudi_pools (\"32M:8\") makes larger ones");
            return Err(Error::unsupported(format!("endpoint {}", config.endpoint), message));
        }
        Ok(())
    }

    fn writer_type(_: Handle, topic: &WriterType) -> Result<*const c_void, i32> {
        Ok(topic.0)
    }

    #[inline]
    unsafe fn write(writer: Handle, writer_type: *const c_void, parts: &[Part]) -> i32 {
        // SAFETY: as the caller promises.
        unsafe { sys::rmwbench_write(writer, writer_type, parts.as_ptr(), parts.len()) }
    }

    #[inline]
    unsafe fn loan(writer: Handle, sample: *mut *mut c_void) -> i32 {
        // SAFETY: as the caller promises.
        unsafe { sys::dds_loan_sample(writer, sample) }
    }

    fn heard(_: &Parents<Self>) {}

    /// The halves of its GUID, combined.
    fn client_number(writer: Handle) -> u64 {
        let guid = guid(writer);
        let half = |at: usize| u64::from_ne_bytes(guid[at..at + 8].try_into().expect("eight"));
        half(0) ^ half(8)
    }

    fn client_granted(requests: &Granted, replies: &Granted) -> Granted {
        Granted { wait: replies.wait, ..requests.clone() }
    }

    fn service_granted(requests: &Granted, _: &Granted) -> Granted {
        requests.clone()
    }
}

pub struct RawMessage {
    message: *mut c_void,
    view: sys::View,
}

impl Message for RawMessage {
    type Heard = ();

    #[inline]
    fn take(reader: Handle) -> Taken<Self> {
        let mut message = std::ptr::null_mut();
        // SAFETY: one place.
        if unsafe { sys::rmwbench_take(reader, &mut message) } <= 0 {
            return Taken::Nothing;
        }
        if message.is_null() {
            return Taken::NoData;
        }
        let mut view = sys::View { bytes: std::ptr::null(), size: 0, shared: false };
        // SAFETY: fills the view with a pointer into the message, which is ours.
        unsafe { sys::rmwbench_view_of(message, &mut view) };
        Taken::Message(RawMessage { message, view })
    }

    #[inline]
    fn hear(&self, _: &()) {}

    #[inline]
    fn body(&self) -> &[u8] {
        // SAFETY: the view has this many bytes of the message, which this holds.
        unsafe { std::slice::from_raw_parts(self.view.bytes, self.view.size) }
    }

    #[inline]
    fn is_lent(&self) -> bool {
        self.view.shared
    }
}

impl Drop for RawMessage {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: ours until here.
        unsafe { sys::rmwbench_release(self.message) };
    }
}
