//! A writer: the CDR around the payload and the payload go to Cyclone as one scatter list, which Cyclone copies once; or, where
//! Cyclone lends shared memory, into a loan, which is what its own write of a sample does there too.
//!
//! The list ends in zeros up to a multiple of four bytes, because RTPS pads what it sends to that and the blob type would let
//! Cyclone read past its buffer for them.

use std::sync::Arc;

use cyclors::*;
use rmwbench_harness::middleware::{Account, Endpoint, EndpointConfig, Error, Granted, PublishError, PublishMode, Publisher};

use crate::entity::{words, Entity};
use crate::node::Parents;
use crate::psmx;
use crate::qos::DdsQos;
use crate::statistics;
use crate::topic::{Kind, ENCAPSULATION_BYTES};

const NOT_OVER_UDP: &str = "over UDP Cyclone DDS has nothing to loan; profile shm has";

pub struct CyclonePublisher {
    writer: Entity,
    _topic: Entity,
    sertype: *const ddsi_sertype,
    /// Cyclone lends samples in shared memory.
    lends: bool,
    prefix: Box<[u8]>,
    /// The CDR after the payload, padding included.
    tail: Box<[u8]>,
    suffix_bytes: usize,
    payload_bytes: usize,
    granted: Granted,
    /// Loans that Cyclone refused: its pool was empty.
    refused: u64,
    /// Failed writes by Cyclone's (negated) return code.
    failures: [u64; 16],
    _parents: Arc<Parents>,
}

// SAFETY: the sertype lives as long as the writer, and Cyclone's calls may come from any thread.
unsafe impl Send for CyclonePublisher {}

impl CyclonePublisher {
    pub fn new(config: &EndpointConfig, parents: Arc<Parents>) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.publish_mode == PublishMode::Async {
            return Err(Error::unsupported(object(), "publish mode async: in Cyclone DDS the writing thread sends"));
        }
        let qos = parents.qos(config)?;
        let topic = parents.topic(config)?;
        // SAFETY: live parent, topic and QoS.
        let handle = unsafe { dds_create_writer(parents.publisher.handle(), topic.handle(), qos.as_ptr(), std::ptr::null()) };
        let writer = Entity::owned(handle, || format!("{}: writer", object()))?;
        let topics = parents.session.topics;
        // SAFETY: a plain call on a live entity.
        let lends = topics == Kind::Descriptor && unsafe { dds_is_loan_available(writer.handle()) };
        if config.loan && !lends {
            let why = if parents.session.domain.psmx { psmx::reason(topics, config) } else { NOT_OVER_UDP.into() };
            return Err(Error::unsupported(object(), format!("loan: {why}")));
        }
        let notes = parents.notes(writer.handle(), config);
        let mut sertype = std::ptr::null();
        // SAFETY: writes one pointer.
        let code = unsafe { dds_get_entity_sertype(writer.handle(), &mut sertype) };
        if code != 0 {
            return Err(Error::failed(format!("{}: type", object()), words(code)));
        }
        let granted = DdsQos::granted(writer.handle()).ok_or_else(|| Error::failed(object(), "its QoS cannot be read back"))?;
        let message_type = &config.message_type;
        let mut tail = message_type.cdr_suffix.clone();
        tail.resize(tail.len() + message_type.cdr_bytes().next_multiple_of(4) - message_type.cdr_bytes(), 0);
        Ok(CyclonePublisher {
            writer,
            _topic: topic,
            sertype,
            lends,
            prefix: message_type.cdr_prefix.clone().into(),
            tail: tail.into(),
            suffix_bytes: message_type.cdr_suffix.len(),
            payload_bytes: message_type.payload_bytes as usize,
            granted: Granted { qos: granted, publish_mode: PublishMode::Sync, wait: config.wait, notes },
            refused: 0,
            failures: [0; 16],
            _parents: parents,
        })
    }
}

impl Publisher for CyclonePublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        if payload.len() != self.payload_bytes {
            return Err(PublishError::Failed); // the length stands in the CDR before it
        }
        if self.lends {
            return self.write_loan(&mut |place| place.copy_from_slice(payload));
        }
        let parts =
            [&*self.prefix, payload, &*self.tail].map(|part| iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
        let bytes = self.prefix.len() + payload.len() + self.tail.len();
        // SAFETY: the parts outlive the call that copies them; the write takes over the reference to the sample.
        let code = unsafe {
            let sample = ddsi_serdata_from_ser_iov(self.sertype, ddsi_serdata_kind_SDK_DATA, parts.len(), parts.as_ptr(), bytes);
            dds_writecdr(self.writer.handle(), sample)
        };
        self.written(code)
    }

    fn publish_loaned(&mut self, bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<(), PublishError> {
        match self.lends {
            true if bytes == self.payload_bytes => self.write_loan(fill),
            true => Err(PublishError::Failed),
            false => Err(PublishError::Unsupported),
        }
    }
}

impl CyclonePublisher {
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
            let sample = std::slice::from_raw_parts_mut(loan.cast::<u8>(), before.len() + self.payload_bytes + after.len());
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
}

impl Endpoint for CyclonePublisher {
    fn matched(&self) -> u32 {
        // SAFETY: fills a plain struct.
        unsafe {
            let mut status = std::mem::zeroed::<dds_publication_matched_status_t>();
            dds_get_publication_matched_status(self.writer.handle(), &mut status);
            status.current_count
        }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let mut counters = statistics::of(self.writer.handle());
        for (code, &count) in self.failures.iter().enumerate().filter(|(_, &count)| count > 0) {
            counters.insert(format!("write_failed: {}", words(-(code as i32))), count as i64);
        }
        if self.lends {
            counters.insert("loan_refused".into(), self.refused as i64);
        }
        Account { counters, ..Account::default() }
    }
}
