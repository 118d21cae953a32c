//! A writer: the CDR around the payload and the payload go to Cyclone as one scatter list, which
//! Cyclone copies once; or, where Cyclone lends shared memory, into a loan, which is what its own
//! write of a sample does there too.
//!
//! The list ends in zeros up to a multiple of four bytes, because RTPS pads what it sends to that
//! and the blob type would let Cyclone read past its buffer for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cyclors::*;
use rmwbench_harness::middleware::{EndpointConfig, Error, PublishError};
use rmwbench_harness::qos::Qos;

use crate::batch::Batched;
use crate::entity::{words, Entity};
use crate::filter;
use crate::parents::Parents;
use crate::psmx;
use crate::qos::DdsQos;
use crate::statistics;
use crate::topic::{self, Kind};
use crate::wire::{RequestHeader, Wire, ENCAPSULATION_BYTES, HEADER_BYTES};

const NOT_OVER_UDP: &str = "over UDP Cyclone DDS has nothing to loan; profile shm has";

pub struct Writer {
    /// Ends before the writer does.
    _batched: Option<Batched>,
    writer: Entity,
    _topic: Entity,
    sertype: *const ddsi_sertype,
    handle: u64,
    /// Cyclone lends samples in shared memory.
    lends: bool,
    prefix: Box<[u8]>,
    /// The CDR after the payload, padding included.
    tail: Box<[u8]>,
    suffix_bytes: usize,
    payload_bytes: usize,
    pub granted: Qos,
    pub notes: Vec<String>,
    /// Loans that Cyclone refused: its pool was empty.
    refused: u64,
    /// Failed writes by Cyclone's (negated) return code.
    failures: [u64; 16],
    parents: Arc<Parents>,
}

// SAFETY: the sertype lives as long as the writer, and Cyclone's calls may come from any thread.
unsafe impl Send for Writer {}

impl Writer {
    pub fn new(config: &EndpointConfig, wire: &Wire, parents: Arc<Parents>) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let session = &parents.session;
        let topics = session.topics;
        let qos = parents
            .qos(config, topics)?
            .with_user_data(wire.user_data.as_deref())
            .batching(session.batches.is_some());
        let topic = topic::create(session.participant.handle(), topics, &object(), wire)?;
        // SAFETY: live parent, topic and QoS.
        let handle = unsafe {
            dds_create_writer(
                parents.publisher.handle(),
                topic.handle(),
                qos.as_ptr(),
                std::ptr::null(),
            )
        };
        let writer = Entity::owned(handle, || format!("{}: writer", object()))?;
        // SAFETY: a plain call on a live entity.
        let lends = topics == Kind::Descriptor && unsafe { dds_is_loan_available(writer.handle()) };
        if config.loan && !lends {
            let why = if session.domain.psmx {
                psmx::reason(topics, config)
            } else {
                NOT_OVER_UDP.into()
            };
            return Err(Error::unsupported(object(), format!("loan: {why}")));
        }
        let mut notes = parents.notes(writer.handle(), config, topics);
        let (mut sertype, mut instance) = (std::ptr::null(), 0);
        // SAFETY: each writes one value.
        let code = unsafe {
            match dds_get_entity_sertype(writer.handle(), &mut sertype) {
                0 => dds_get_instance_handle(writer.handle(), &mut instance),
                code => code,
            }
        };
        if code != 0 {
            return Err(Error::failed(format!("{}: type", object()), words(code)));
        }
        let mut granted = DdsQos::granted(writer.handle())
            .ok_or_else(|| Error::failed(object(), "its QoS cannot be read back"))?;
        if config.qos.content_filter.is_some() {
            granted.content_filter.clone_from(&config.qos.content_filter);
            notes.push(filter::NOTE.into());
        }
        let message_type = &wire.message_type;
        let mut tail = message_type.cdr_suffix.clone();
        tail.resize(
            tail.len() + message_type.cdr_bytes().next_multiple_of(4) - message_type.cdr_bytes(),
            0,
        );
        let batched = session.batches.as_ref().map(|batches| batches.add(writer.handle()));
        notes.extend(session.batches.as_ref().map(|batches| batches.note()));
        session.domain.locals.add(instance);
        Ok(Writer {
            _batched: batched,
            writer,
            _topic: topic,
            sertype,
            handle: instance,
            lends,
            prefix: message_type.cdr_prefix.clone().into(),
            tail: tail.into(),
            suffix_bytes: message_type.cdr_suffix.len(),
            payload_bytes: message_type.payload_bytes as usize,
            granted,
            notes,
            refused: 0,
            failures: [0; 16],
            parents: parents.clone(),
        })
    }

    /// Its instance handle, by which readers of this process know it, and a service its client.
    pub fn instance(&self) -> u64 {
        self.handle
    }

    /// Writes the request header of what follows.
    #[inline]
    pub fn set_header(&mut self, header: RequestHeader) {
        self.prefix[ENCAPSULATION_BYTES..][..HEADER_BYTES].copy_from_slice(&header.bytes());
    }

    #[inline]
    pub fn write(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        if payload.len() != self.payload_bytes {
            return Err(PublishError::Failed); // the length stands in the CDR before it
        }
        if self.lends {
            return self.write_loan(&mut |place| place.copy_from_slice(payload));
        }
        let parts = [&*self.prefix, payload, &*self.tail]
            .map(|part| iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
        let bytes = self.prefix.len() + payload.len() + self.tail.len();
        // SAFETY: the parts outlive the call that copies them; the write takes over the reference
        // to the sample.
        let code = unsafe {
            let sample = ddsi_serdata_from_ser_iov(
                self.sertype,
                ddsi_serdata_kind_SDK_DATA,
                parts.len(),
                parts.as_ptr(),
                bytes,
            );
            dds_writecdr(self.writer.handle(), sample)
        };
        self.written(code)
    }

    pub fn write_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        match self.lends {
            true if bytes == self.payload_bytes => self.write_loan(fill),
            true => Err(PublishError::Failed),
            false => Err(PublishError::Unsupported),
        }
    }

    #[inline]
    fn write_loan(&mut self, fill: &mut dyn FnMut(&mut [u8])) -> Result<(), PublishError> {
        let before = &self.prefix[ENCAPSULATION_BYTES..];
        let after = &self.tail[..self.suffix_bytes];
        let mut loan = std::ptr::null_mut();
        // SAFETY: the loan is as long as the described type; writing it gives it back.
        let code = unsafe {
            if dds_request_loan(self.writer.handle(), &mut loan) != 0 {
                self.refused += 1;
                return Err(PublishError::Full);
            }
            let sample = std::slice::from_raw_parts_mut(
                loan.cast::<u8>(),
                before.len() + self.payload_bytes + after.len(),
            );
            let (head, rest) = sample.split_at_mut(before.len());
            let (payload, end) = rest.split_at_mut(self.payload_bytes);
            head.copy_from_slice(before);
            fill(payload);
            end.copy_from_slice(after);
            dds_write(self.writer.handle(), loan)
        };
        self.written(code)
    }

    #[inline]
    fn written(&mut self, code: dds_return_t) -> Result<(), PublishError> {
        if code == 0 {
            return Ok(());
        }
        self.failures[code.unsigned_abs().min(15) as usize] += 1;
        Err(match code {
            DDS_RETCODE_TIMEOUT => PublishError::Timeout,
            DDS_RETCODE_OUT_OF_RESOURCES => PublishError::Full,
            _ => PublishError::Failed,
        })
    }

    /// Readers matched now.
    pub fn matched(&self) -> u32 {
        // SAFETY: fills a plain struct.
        unsafe {
            let mut status = std::mem::zeroed::<dds_publication_matched_status_t>();
            dds_get_publication_matched_status(self.writer.handle(), &mut status);
            status.current_count
        }
    }

    pub fn counters(&self) -> BTreeMap<String, i64> {
        let mut counters = statistics::of(self.writer.handle());
        for (code, &count) in self.failures.iter().enumerate().filter(|(_, &count)| count > 0) {
            counters.insert(format!("write_failed: {}", words(-(code as i32))), count as i64);
        }
        if self.lends {
            counters.insert("loan_refused".into(), self.refused as i64);
        }
        counters
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.parents.session.domain.locals.remove(self.handle);
    }
}
