//! A publisher with its recorder: the one function that sends a message, for every middleware and every arrival.
//!
//! The payload is written after the message was taken up, on both paths: source → message → publish, or loan → source → commit.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use crate::clock::now_ns;
use crate::middleware::{PublishError, Publisher};
use crate::payload::{self, Header, Phase, HEADER_BYTES};
use crate::records::{sent_flag, Section, Sent};

/// The message that caused this one; `endpoint` 0 stands for the schedule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cause {
    pub endpoint: u32,
    pub seq: u64,
}

pub struct RecordedPublisher {
    publisher: Box<dyn Publisher>,
    section: Option<Section>,
    /// The source that the copying path publishes from; empty with loans.
    message: Vec<u8>,
    endpoint: u32,
    nonce: u64,
    bytes: u32,
    touched: u32,
    loan: bool,
    next_seq: u64,
    next_probe: u64,
    failed: u64,
    last_sent_seq: Option<u64>,
}

/// What a recorded publisher needs besides the middleware's publisher.
pub struct PublisherParts {
    pub section: Option<Section>,
    pub endpoint: u32,
    pub nonce: u64,
    pub payload_bytes: u32,
    pub touched_bytes: u32,
    pub loan: bool,
}

impl RecordedPublisher {
    pub fn new(publisher: Box<dyn Publisher>, parts: PublisherParts) -> Self {
        // Written once, not merely allocated: a first touch of 8 MiB costs more than its copy.
        let message = if parts.loan { Vec::new() } else { vec![0xA5; parts.payload_bytes as usize] };
        RecordedPublisher {
            publisher,
            section: parts.section,
            message,
            endpoint: parts.endpoint,
            nonce: parts.nonce,
            bytes: parts.payload_bytes,
            touched: parts.touched_bytes,
            loan: parts.loan,
            next_seq: 0,
            next_probe: 0,
            failed: 0,
            last_sent_seq: None,
        }
    }

    /// Sends the next message of `phase`; an attempt that failed has used its sequence number and is recorded as failed.
    #[inline]
    pub fn send(&mut self, intended_ns: i64, phase: Phase, cause: Cause) -> Result<(), PublishError> {
        let begun_ns = now_ns();
        let counter = if phase == Phase::Probe { &mut self.next_probe } else { &mut self.next_seq };
        let seq = *counter;
        *counter += 1;
        let header = Header {
            writer: self.endpoint,
            nonce: self.nonce,
            seq,
            intended_ns,
            cause_seq: cause.seq,
            cause_endpoint: cause.endpoint,
            size: self.bytes,
            phase,
            touched: self.touched,
        };
        let touched = self.touched as usize;
        let write = |payload: &mut [u8]| {
            header.write(payload);
            payload::fill(&mut payload[HEADER_BYTES..HEADER_BYTES + touched], header.writer, seq);
        };
        let mut call_ns = 0;
        let result = if self.loan {
            self.publisher.publish_loaned(self.bytes as usize, &mut |payload| {
                write(payload);
                call_ns = now_ns();
            })
        } else {
            write(&mut self.message);
            call_ns = now_ns();
            self.publisher.publish(&self.message)
        };
        let return_ns = now_ns();
        if phase == Phase::Probe {
            return result;
        }
        let mut flags = if phase == Phase::Warmup { sent_flag::WARMUP } else { 0 };
        if self.loan {
            flags |= sent_flag::LOANED;
        }
        if result.is_err() {
            flags |= sent_flag::FAILED;
            self.failed += 1;
        } else {
            self.last_sent_seq = Some(seq);
        }
        if let Some(section) = &self.section {
            section.sent(&Sent {
                seq,
                intended_ns,
                begun_ns,
                call_ns,
                return_ns,
                cause_seq: cause.seq,
                cause_endpoint: cause.endpoint,
                bytes: self.bytes,
                flags,
            });
        }
        result
    }

    pub fn publisher(&self) -> &dyn Publisher {
        &*self.publisher
    }

    /// Messages attempted so far, probes apart.
    pub fn attempted(&self) -> u64 {
        self.next_seq
    }

    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// The last sequence number that the middleware accepted.
    pub fn last_sent_seq(&self) -> Option<u64> {
        self.last_sent_seq
    }
}

/// A publisher's place: its schedule thread (or its relay) holds the lock while it runs, so that a message takes no lock of ours;
/// `None` after it was destroyed.
pub struct PublisherSlot {
    pub endpoint: u32,
    pub publisher: Mutex<Option<RecordedPublisher>>,
    /// No message due at or after this time is sent.
    pub stop_ns: AtomicI64,
}

impl PublisherSlot {
    pub fn new(endpoint: u32, publisher: RecordedPublisher) -> Arc<Self> {
        Arc::new(PublisherSlot { endpoint, publisher: Mutex::new(Some(publisher)), stop_ns: AtomicI64::new(i64::MAX) })
    }

    pub fn stop_ns(&self) -> i64 {
        self.stop_ns.load(Ordering::Acquire)
    }
}
