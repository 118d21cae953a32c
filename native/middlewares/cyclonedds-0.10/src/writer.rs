//! A DDS writer of raw CDR: the parts of a message go to Cyclone as one scatter list, which it
//! copies once; or, in shared memory, into a chunk that Cyclone lends, which is what its own write
//! of a sample does there too.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Account, EndpointConfig, Error, Granted, PublishError, PublishMode, WhenFull,
};

use crate::entity::{words, Entity};
use crate::node::Parents;
use crate::qos::{self, DdsQos};
use crate::sys::{self, Handle, Part};
use crate::{shared_memory, statistics};

/// Bytes of the encapsulation header, which stand before the body on the wire and not in a sample.
pub const ENCAPSULATION_BYTES: usize = 4;
/// What stands before a message in its chunk: iceoryx's header and Cyclone's, generously.
const CHUNK_HEADERS_BYTES: usize = 256;
const NOT_OVER_UDP: &str = "over UDP Cyclone DDS has nothing to loan; profile shm has";

pub struct Writer {
    writer: Entity,
    _topic: Entity,
    written_as: *const c_void,
    /// Cyclone lends samples in shared memory.
    lends: bool,
    encapsulation: [u8; ENCAPSULATION_BYTES],
    /// The CDR between the encapsulation header and the payload.
    before: Box<[u8]>,
    /// The CDR after the payload, padding included.
    tail: Box<[u8]>,
    suffix_bytes: usize,
    payload_bytes: usize,
    header_bytes: usize,
    granted: Granted,
    /// Loans that Cyclone refused: its pool was empty.
    refused: AtomicU64,
    /// Failed writes by Cyclone's (negated) return code.
    failures: [AtomicU64; 16],
    _parents: Arc<Parents>,
}

// SAFETY: the type lives as long as the topic, and Cyclone's calls may come from any thread.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

impl Writer {
    /// A writer on DDS topic `topic` whose messages have `header_bytes` of a service's header
    /// between encapsulation and body.
    pub fn new(
        config: &EndpointConfig,
        topic: &str,
        message_type: &MessageType,
        header_bytes: usize,
        parents: Arc<Parents>,
    ) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.publish_mode == PublishMode::Async {
            return Err(Error::unsupported(
                object(),
                "publish mode async: in Cyclone DDS the writing thread sends",
            ));
        }
        let Some((&encapsulation, before)) = message_type.cdr_prefix.split_first_chunk() else {
            return Err(Error::invalid(
                object(),
                format!("type {} has no encapsulation header", message_type.name),
            ));
        };
        let qos = DdsQos::asked(config)?;
        let (topic, written_as) = parents.topic(config, topic, message_type, header_bytes)?;
        // SAFETY: live parent, topic and QoS.
        let handle = unsafe {
            sys::dds_create_writer(
                parents.publisher.handle(),
                topic.handle(),
                qos.as_ptr(),
                std::ptr::null(),
            )
        };
        let writer = Entity::owned(handle, || format!("{}: writer", object()))?;
        // SAFETY: a plain call on a live entity.
        let lends = unsafe { sys::dds_is_loan_available(writer.handle()) };
        if config.loan && !lends {
            let why = if parents.session.domain.settings.shared_memory {
                shared_memory::reason(config)
            } else {
                NOT_OVER_UDP.into()
            };
            return Err(Error::unsupported(object(), format!("loan: {why}")));
        }
        let bytes = message_type.cdr_bytes() + header_bytes;
        let largest = parents.session.domain.settings.largest_chunk;
        if lends && (bytes + CHUNK_HEADERS_BYTES) as u64 > largest {
            let message =
                format!("{bytes} bytes: RouDi's largest chunks have {largest}; the option roudi_pools (\"32M:8\") makes larger ones");
            return Err(Error::unsupported(object(), message));
        }
        let notes = parents.notes(writer.handle(), config);
        let granted = qos::granted(writer.handle())
            .ok_or_else(|| Error::failed(object(), "its QoS cannot be read back"))?;
        let mut tail = message_type.cdr_suffix.clone();
        tail.resize(tail.len() + bytes.next_multiple_of(4) - bytes, 0); // RTPS sends multiples of four bytes
        Ok(Writer {
            writer,
            _topic: topic,
            written_as,
            lends,
            encapsulation,
            before: before.into(),
            tail: tail.into(),
            suffix_bytes: message_type.cdr_suffix.len(),
            payload_bytes: message_type.payload_bytes as usize,
            header_bytes,
            granted: Granted {
                when_full: WhenFull::of_dds_writer(&granted),
                qos: granted,
                publish_mode: PublishMode::Sync,
                wait: config.wait,
                take: None,
                notes,
            },
            refused: AtomicU64::new(0),
            failures: Default::default(),
            _parents: parents,
        })
    }

    /// Writes a copy of `payload` behind `header`.
    #[inline]
    pub fn write(&self, header: &[u8], payload: &[u8]) -> Result<(), PublishError> {
        if payload.len() != self.payload_bytes || header.len() != self.header_bytes {
            return Err(PublishError::Failed); // the length stands in the CDR before it
        }
        if self.lends {
            return self.write_loan(header, &mut |place| place.copy_from_slice(payload));
        }
        let parts = [&self.encapsulation, header, &*self.before, payload, &*self.tail]
            .map(|part| Part { bytes: part.as_ptr(), size: part.len() });
        // SAFETY: the parts outlive the call, which copies them.
        self.written(unsafe {
            sys::rmwbench_write(self.writer.handle(), self.written_as, parts.as_ptr(), parts.len())
        })
    }

    /// Has `fill` write the payload in place.
    pub fn write_in_place(
        &self,
        header: &[u8],
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        match self.lends {
            true if bytes == self.payload_bytes => self.write_loan(header, fill),
            true => Err(PublishError::Failed),
            false => Err(PublishError::Unsupported),
        }
    }

    #[inline]
    fn write_loan(
        &self,
        header: &[u8],
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let after = &self.tail[..self.suffix_bytes];
        let mut loan = std::ptr::null_mut();
        // SAFETY: the loan is as long as the type says; writing it gives it back.
        let code = unsafe {
            if sys::dds_loan_sample(self.writer.handle(), &mut loan) != 0 {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return Err(PublishError::Full);
            }
            let size = header.len() + self.before.len() + self.payload_bytes + after.len();
            let sample = std::slice::from_raw_parts_mut(loan.cast::<u8>(), size);
            let (head, rest) = sample.split_at_mut(header.len());
            let (before, rest) = rest.split_at_mut(self.before.len());
            let (payload, end) = rest.split_at_mut(self.payload_bytes);
            head.copy_from_slice(header);
            before.copy_from_slice(&self.before);
            fill(payload);
            end.copy_from_slice(after);
            sys::dds_write(self.writer.handle(), loan)
        };
        self.written(code)
    }

    #[inline]
    fn written(&self, code: i32) -> Result<(), PublishError> {
        if code == 0 {
            return Ok(());
        }
        self.failures[code.unsigned_abs().min(15) as usize].fetch_add(1, Ordering::Relaxed);
        Err(match code {
            sys::TIMEOUT => PublishError::Timeout,
            sys::OUT_OF_RESOURCES => PublishError::Full,
            _ => PublishError::Failed,
        })
    }

    pub fn handle(&self) -> Handle {
        self.writer.handle()
    }

    pub fn matched(&self) -> u32 {
        // SAFETY: a plain call on a live entity.
        unsafe { sys::rmwbench_readers_matched(self.writer.handle()) }
    }

    pub fn granted(&self) -> Granted {
        self.granted.clone()
    }

    pub fn account(&self) -> Account {
        let mut counters = statistics::of(self.writer.handle());
        for (code, failures) in self.failures.iter().enumerate() {
            let count = failures.load(Ordering::Relaxed);
            if count > 0 {
                counters.insert(format!("write_failed: {}", words(-(code as i32))), count as i64);
            }
        }
        if self.lends {
            counters.insert("loan_refused".into(), self.refused.load(Ordering::Relaxed) as i64);
        }
        Account { counters, ..Account::default() }
    }
}
