//! A writer: the payload and the CDR around it go to Cyclone as one scatter list, which Cyclone
//! copies once; or, if Cyclone lends shared memory, into a loan, as Cyclone's own write of a sample
//! does there, too.
//!
//! The list ends with zeros up to a multiple of four bytes, because RTPS pads its messages to that
//! and reads the padding after a shorter message.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{
    EndpointConfig, Error, Granted, PublishError, PublishMode, WhenFull,
};

use crate::domain::Settings;
use crate::entity::{words, Entity};
use crate::qos;
use crate::release::{self, Release, Side, Topic};
use crate::session::Parents;
use crate::statistics;
use crate::sys::{self, Handle, Matched, Part};
use crate::wire::{Wire, ENCAPSULATION_BYTES};

const NOT_OVER_UDP: &str = "over UDP Cyclone DDS has nothing to loan; profile shm has";

pub struct Writer<R: Release> {
    _release_data: R::Writer,
    writer: Entity,
    _topic: Topic<R>,
    writer_type: *const c_void,
    /// Whether Cyclone lends samples in shared memory.
    lends: bool,
    /// The CDR before the payload; a service's header follows the encapsulation.
    prefix: Box<[u8]>,
    /// The CDR after the payload, padding included.
    tail: Box<[u8]>,
    suffix_bytes: usize,
    payload_bytes: usize,
    granted: Granted,
    /// The number of loans that Cyclone refused because its pool was empty.
    refused: AtomicU64,
    /// Failed writes by Cyclone's (negated) return code.
    failures: [AtomicU64; 16],
    _parents: Arc<Parents<R>>,
}

// SAFETY: the type lives as long as the topic, and Cyclone's calls may come from any thread.
unsafe impl<R: Release> Send for Writer<R> {}
// SAFETY: as above.
unsafe impl<R: Release> Sync for Writer<R> {}

impl<R: Release> Writer<R> {
    pub fn new(
        config: &EndpointConfig,
        wire: &Wire,
        parents: Arc<Parents<R>>,
    ) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.publish_mode == PublishMode::Async {
            let why = "publish mode async: in Cyclone DDS the writing thread sends";
            return Err(Error::unsupported(object(), why));
        }
        let dds_qos = R::qos(&parents, config, Side::Writer)?;
        if let Some(text) = &wire.user_data {
            R::set_user_data(&dds_qos, text);
        }
        let topic = R::topic(&parents, config, wire, Side::Writer)?;
        // SAFETY: live parent, topic and QoS.
        let handle = unsafe {
            sys::dds_create_writer(
                parents.publisher.handle(),
                topic.entity.handle(),
                dds_qos.as_ptr(),
                std::ptr::null(),
            )
        };
        let writer = Entity::owned(handle, || format!("{}: writer", object()))?;
        let lends = R::lends(&parents, writer.handle());
        if config.loan && !lends {
            let why = if parents.session.domain.settings.shared_memory() {
                R::not_shared(&parents, config, Side::Writer)
            } else {
                NOT_OVER_UDP.into()
            };
            return Err(Error::unsupported(object(), format!("loan: {why}")));
        }
        let mut notes = release::notes(&parents, writer.handle(), config, Side::Writer);
        let writer_type = R::writer_type(writer.handle(), &topic.release_data)
            .map_err(|code| Error::failed(format!("{}: type", object()), words(code)))?;
        let qos = qos::granted(writer.handle(), config)?;
        // In shared memory there are no acknowledgements for which a writer could wait: its readers
        // lose messages.
        let waits_for_nobody = R::HELD_IN_SHARED_MEMORY.is_some()
            && release::in_shared_memory(&parents, writer.handle());
        let when_full = match WhenFull::of_dds_writer(&qos) {
            Some(WhenFull::Blocks) if waits_for_nobody => None,
            when_full => when_full,
        };
        let release_data = R::complete_writer(&parents, config, wire, writer.handle(), &mut notes)?;
        let message_type = &wire.message_type;
        let mut tail = message_type.cdr_suffix.clone();
        tail.resize(tail.len() + wire.cdr_bytes().next_multiple_of(4) - wire.cdr_bytes(), 0);
        Ok(Writer {
            _release_data: release_data,
            writer,
            _topic: topic,
            writer_type,
            lends,
            prefix: message_type.cdr_prefix.clone().into(),
            tail: tail.into(),
            suffix_bytes: message_type.cdr_suffix.len(),
            payload_bytes: message_type.payload_bytes as usize,
            granted: Granted {
                when_full,
                qos,
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

    /// Writes a copy of `payload`; for a service, after `header`.
    #[inline]
    pub fn write(&self, header: &[u8], payload: &[u8]) -> Result<(), PublishError> {
        if payload.len() != self.payload_bytes {
            return Err(PublishError::Failed); // the CDR before it has the length
        }
        if self.lends {
            return self.write_loan(header, &mut |place| place.copy_from_slice(payload));
        }
        // SAFETY: ours; the parts outlive the calls, which copy them.
        let code = unsafe {
            if header.is_empty() {
                let parts = [&*self.prefix, payload, &*self.tail].map(Part::of);
                R::write(self.writer.handle(), self.writer_type, &parts)
            } else {
                let (encapsulation, before) = self.prefix.split_at(ENCAPSULATION_BYTES);
                let parts = [encapsulation, header, before, payload, &*self.tail].map(Part::of);
                R::write(self.writer.handle(), self.writer_type, &parts)
            }
        };
        self.written(code)
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
        let before = &self.prefix[ENCAPSULATION_BYTES..];
        let after = &self.tail[..self.suffix_bytes];
        let mut loan = std::ptr::null_mut();
        // SAFETY: the loan is as long as the type; writing it returns it.
        let code = unsafe {
            if R::loan(self.writer.handle(), &mut loan) != 0 {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return Err(PublishError::Full);
            }
            let size = header.len() + before.len() + self.payload_bytes + after.len();
            let sample = std::slice::from_raw_parts_mut(loan.cast::<u8>(), size);
            let (head, rest) = sample.split_at_mut(header.len());
            let (begin, rest) = rest.split_at_mut(before.len());
            let (payload, end) = rest.split_at_mut(self.payload_bytes);
            head.copy_from_slice(header);
            begin.copy_from_slice(before);
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

    /// The number of readers matched now.
    pub fn matched(&self) -> u32 {
        let mut status = Matched::default();
        // SAFETY: fills a plain struct.
        unsafe { sys::dds_get_publication_matched_status(self.writer.handle(), &mut status) };
        status.current_count
    }

    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    pub fn counters(&self) -> BTreeMap<String, i64> {
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
        counters
    }
}
