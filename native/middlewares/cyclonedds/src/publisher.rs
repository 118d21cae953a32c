//! A writer: the CDR around the payload and the payload go to Cyclone as one scatter list, which Cyclone copies once.
//!
//! The list ends in zeros up to a multiple of four bytes, because RTPS pads what it sends to that and the blob type would let
//! Cyclone read past its buffer for them.

use std::sync::Arc;

use cyclors::*;
use rmwbench_harness::middleware::{Account, Endpoint, EndpointConfig, Error, Granted, PublishError, PublishMode, Publisher};

use crate::entity::{words, Entity};
use crate::node::Parents;
use crate::qos::DdsQos;
use crate::statistics;

pub struct CyclonePublisher {
    writer: Entity,
    _topic: Entity,
    sertype: *const ddsi_sertype,
    prefix: Box<[u8]>,
    /// The CDR after the payload, padding included.
    tail: Box<[u8]>,
    payload_bytes: usize,
    granted: Granted,
    /// Failed writes by Cyclone's (negated) return code.
    failures: [u64; 16],
    _parents: Arc<Parents>,
}

// SAFETY: the sertype lives as long as the writer, and Cyclone's calls may come from any thread.
unsafe impl Send for CyclonePublisher {}

impl CyclonePublisher {
    pub fn new(config: &EndpointConfig, parents: Arc<Parents>) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.loan {
            return Err(Error::unsupported(object(), "loan: raw CDR goes over UDP, where Cyclone DDS has nothing to loan"));
        }
        if config.publish_mode == PublishMode::Async {
            return Err(Error::unsupported(object(), "publish mode async: in Cyclone DDS the writing thread sends"));
        }
        let qos = DdsQos::asked(config)?;
        let topic = parents.topic(config)?;
        // SAFETY: live parent, topic and QoS.
        let handle = unsafe { dds_create_writer(parents.publisher.handle(), topic.handle(), qos.as_ptr(), std::ptr::null()) };
        let writer = Entity::owned(handle, || format!("{}: writer", object()))?;
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
            prefix: message_type.cdr_prefix.clone().into(),
            tail: tail.into(),
            payload_bytes: message_type.payload_bytes as usize,
            granted: Granted {
                qos: granted,
                publish_mode: PublishMode::Sync,
                wait: config.wait,
                notes: parents.session.domain.notes.clone(),
            },
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
        let parts =
            [&*self.prefix, payload, &*self.tail].map(|part| iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
        let bytes = self.prefix.len() + payload.len() + self.tail.len();
        // SAFETY: the parts outlive the call that copies them; the write takes over the reference to the sample.
        let code = unsafe {
            let sample = ddsi_serdata_from_ser_iov(self.sertype, ddsi_serdata_kind_SDK_DATA, parts.len(), parts.as_ptr(), bytes);
            dds_writecdr(self.writer.handle(), sample)
        };
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
        Account { counters, ..Account::default() }
    }
}
