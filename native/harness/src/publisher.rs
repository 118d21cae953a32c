//! A publisher with its recorder: the one function that sends a message, for every middleware and
//! every arrival.
//!
//! The payload is written after work on the message began, on both paths: source → message →
//! publish, or loan → source → commit. The message is the API's own if the API's users write into
//! one, else memory of the harness.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use crate::clock::now_ns;
use crate::frames::Frames;
use crate::middleware::{PublishError, Publisher};
use crate::payload::{self, Header, Phase, FRAMES, HEADER_BYTES};
use crate::records::{sent_flag, Section, Sent};

/// The message that caused this one; `endpoint` 0 stands for the schedule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cause {
    pub endpoint: u32,
    pub seq: u64,
}

/// The constant data of a sender, besides the middleware's publisher.
pub struct Recorder {
    pub section: Option<Section>,
    pub endpoint: u32,
    pub nonce: u64,
    pub payload_bytes: u32,
    pub touched_bytes: u32,
    pub loan: bool,
}

/// Where a message is in its sender's series: when work on it began, its number and its cause.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    pub begun_ns: i64,
    pub seq: u64,
    pub intended_ns: i64,
    pub phase: Phase,
    pub cause: Cause,
}

/// How bytes are sent: by publishing a message, or by writing into memory that the middleware
/// lends.
pub enum Way<'a> {
    Copy { message: &'a mut [u8], publish: &'a mut dyn FnMut(&[u8]) -> Result<(), PublishError> },
    Loan(&'a mut dyn Publisher),
}

impl Recorder {
    /// The source for the copying path; empty with loans. It is written once, not merely allocated:
    /// the first touch of 8 MiB costs more than the copy.
    pub fn message(&self) -> Vec<u8> {
        if self.loan {
            Vec::new()
        } else {
            vec![0xA5; self.payload_bytes as usize]
        }
    }

    /// Writes the payload, sends it and records the attempt, even a failed one. Probes leave no
    /// record.
    #[inline]
    pub fn send(&self, attempt: Attempt, way: Way<'_>) -> Result<(), PublishError> {
        self.send_content(attempt, way, |body, header| {
            payload::fill(body, header.writer, header.seq)
        })
    }

    /// As `send`, with another content than the pattern: `content` writes the body, and sets
    /// its fields in the header.
    #[inline]
    pub fn send_content(
        &self,
        attempt: Attempt,
        way: Way<'_>,
        mut content: impl FnMut(&mut [u8], &mut Header),
    ) -> Result<(), PublishError> {
        let Attempt { begun_ns, seq, intended_ns, phase, cause } = attempt;
        let mut header = Header {
            writer: self.endpoint,
            nonce: self.nonce,
            seq,
            intended_ns,
            cause_seq: cause.seq,
            cause_endpoint: cause.endpoint,
            size: self.payload_bytes,
            phase,
            touched: self.touched_bytes,
        };
        let touched = self.touched_bytes as usize;
        let mut write = |payload: &mut [u8]| {
            content(&mut payload[HEADER_BYTES..HEADER_BYTES + touched], &mut header);
            header.write(payload);
        };
        let call_ns;
        let mut fill_ns = 0;
        let result = match way {
            Way::Loan(publisher) => {
                // The wait for the loan is the middleware's time; writing into it is ours.
                call_ns = now_ns();
                publisher.publish_loaned(self.payload_bytes as usize, &mut |payload| {
                    let granted_ns = now_ns();
                    write(payload);
                    fill_ns = now_ns() - granted_ns;
                })
            }
            Way::Copy { message, publish } => {
                write(message);
                call_ns = now_ns();
                publish(message)
            }
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
        }
        if let Some(section) = &self.section {
            // The time of writing into a loan is recorded in the place of a cause if the message
            // has none; with a cause, it is recorded in the place of `begun_ns`, which then equals
            // the time of the call.
            let caused = cause.endpoint != 0;
            section.sent(&Sent {
                seq,
                intended_ns,
                begun_ns: if self.loan && caused { fill_ns } else { begun_ns },
                call_ns,
                return_ns,
                cause_seq: if self.loan && !caused { fill_ns as u64 } else { cause.seq },
                cause_endpoint: cause.endpoint,
                bytes: self.payload_bytes,
                flags,
            });
        }
        result
    }
}

/// The counts of a sender so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    next_seq: u64,
    next_probe: u64,
    probes_sent: u64,
    failed: u64,
    last_sent_seq: Option<u64>,
}

impl Tally {
    /// The number of the next message of `phase`; a failed attempt has used its number.
    #[inline]
    pub fn next(&mut self, phase: Phase) -> u64 {
        let counter = if phase == Phase::Probe { &mut self.next_probe } else { &mut self.next_seq };
        *counter += 1;
        *counter - 1
    }

    /// Counts the result of the attempt with `seq`; attempts may end in another order than they
    /// began.
    #[inline]
    pub fn note(&mut self, phase: Phase, seq: u64, result: Result<(), PublishError>) {
        if phase == Phase::Probe {
            self.probes_sent += u64::from(result.is_ok());
            return;
        }
        match result {
            Ok(()) => self.last_sent_seq = self.last_sent_seq.max(Some(seq)),
            Err(_) => self.failed += 1,
        }
    }

    /// The number of messages attempted so far, without probes.
    pub fn attempted(&self) -> u64 {
        self.next_seq
    }

    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// The number of probes that the middleware accepted.
    pub fn probes_sent(&self) -> u64 {
        self.probes_sent
    }

    /// The last sequence number that the middleware accepted.
    pub fn last_sent_seq(&self) -> Option<u64> {
        self.last_sent_seq
    }
}

/// A publisher, or a client's sending side, with its recorder.
pub struct RecordedPublisher {
    publisher: Box<dyn Publisher>,
    recorder: Recorder,
    /// The memory that is published if the API has no message of its own; else empty.
    message: Vec<u8>,
    tally: Tally,
    frames: Option<Frames>,
}

impl RecordedPublisher {
    pub fn new(mut publisher: Box<dyn Publisher>, recorder: Recorder) -> Self {
        let has_own =
            !recorder.loan && publisher.message(recorder.payload_bytes as usize).is_some();
        let message = if has_own { Vec::new() } else { recorder.message() };
        RecordedPublisher { publisher, recorder, message, tally: Tally::default(), frames: None }
    }

    /// The same publisher, sending frames of an outside source.
    pub fn with_frames(self, frames: Option<Frames>) -> Self {
        RecordedPublisher { frames, ..self }
    }

    /// Sends the next message of `phase`; a failed attempt has used its sequence number and is
    /// recorded as failed.
    #[inline]
    pub fn send(
        &mut self,
        intended_ns: i64,
        phase: Phase,
        cause: Cause,
    ) -> Result<(), PublishError> {
        let begun_ns = now_ns();
        let seq = self.tally.next(phase);
        let publisher = &mut *self.publisher;
        let way = if self.recorder.loan {
            Way::Loan(publisher)
        } else {
            let own = publisher.message(self.recorder.payload_bytes as usize);
            // SAFETY: the trait promises that the memory is valid until `publish` was called with
            // it, and that nobody else touches it.
            let message = match own {
                Some(mut message) => unsafe { message.as_mut() },
                None => &mut self.message,
            };
            Way::Copy { message, publish: &mut |payload| publisher.publish(payload) }
        };
        let attempt = Attempt { begun_ns, seq, intended_ns, phase, cause };
        let result = match &mut self.frames {
            None => self.recorder.send(attempt, way),
            Some(frames) => self.recorder.send_content(attempt, way, |body, header| {
                header.cause_endpoint = FRAMES;
                header.cause_seq = frames.take(body, phase == Phase::Probe);
            }),
        };
        self.tally.note(phase, seq, result);
        result
    }

    pub fn publisher(&self) -> &dyn Publisher {
        &*self.publisher
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    pub fn frames(&self) -> Option<&Frames> {
        self.frames.as_ref()
    }
}

/// A place for a publisher: its schedule thread (or its relay) holds the lock while it runs, so
/// that no message takes a lock of the harness; `None` after the publisher was destroyed.
pub struct PublisherSlot {
    pub endpoint: u32,
    pub publisher: Mutex<Option<RecordedPublisher>>,
    /// No message due at or after this time is sent.
    pub stop_ns: AtomicI64,
    /// For a publisher that was told to leave: unsent messages that were due before this time are
    /// left over.
    left_ns: AtomicI64,
}

impl PublisherSlot {
    pub fn new(endpoint: u32, publisher: RecordedPublisher) -> Arc<Self> {
        Arc::new(PublisherSlot {
            endpoint,
            publisher: Mutex::new(Some(publisher)),
            stop_ns: AtomicI64::new(i64::MAX),
            left_ns: AtomicI64::new(i64::MAX),
        })
    }

    /// The publisher sends no more, not even messages that were due before `now_ns`. A second call
    /// keeps the earlier time.
    pub fn leave(&self, now_ns: i64) {
        if self.stop_ns() == 0 {
            return;
        }
        // In this order: a thread that sees the stop also sees until when there was a schedule.
        self.left_ns.fetch_min(self.stop_ns().min(now_ns), Ordering::AcqRel);
        self.stop_ns.store(0, Ordering::Release);
    }

    /// The schedule covers messages due before this time: they were sent or are left over.
    pub fn until_ns(&self) -> i64 {
        match self.stop_ns() {
            0 => self.left_ns.load(Ordering::Acquire),
            stop_ns => stop_ns,
        }
    }

    pub fn stop_ns(&self) -> i64 {
        self.stop_ns.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::{Account, Endpoint, Granted};
    use crate::records::{layout, memfd, Kind, Records};
    use std::ptr::NonNull;
    use std::time::Duration;

    const WAIT: Duration = Duration::from_millis(5);

    /// Makes its caller wait for a loan, and refuses the loan or takes some time to commit it.
    struct Lender {
        refuses: bool,
    }

    impl Endpoint for Lender {
        fn matched(&self) -> u32 {
            1
        }
        fn granted(&self) -> Granted {
            unimplemented!("a sender never asks")
        }
        fn account(&self) -> Account {
            Account::default()
        }
    }

    impl Publisher for Lender {
        fn publish(&mut self, _: &[u8]) -> Result<(), PublishError> {
            unimplemented!("it only lends")
        }
        fn publish_loaned(
            &mut self,
            bytes: usize,
            fill: &mut dyn FnMut(&mut [u8]),
        ) -> Result<(), PublishError> {
            std::thread::sleep(WAIT);
            if self.refuses {
                return Err(PublishError::Failed);
            }
            fill(&mut vec![0; bytes]);
            Ok(())
        }
    }

    /// begun, call, return, the cause's number (as recorded) and flags of one message.
    fn sent_by(lender: Lender, cause: Cause) -> (i64, i64, i64, i64, u32) {
        let fd = memfd(&layout(7, &[(Kind::Sent, 1, 4)])).unwrap();
        let records = Records::map(fd.try_clone().unwrap()).unwrap();
        let section = records.section(Kind::Sent, 1);
        let recorder = Recorder {
            section,
            endpoint: 1,
            nonce: 7,
            payload_bytes: 1000,
            touched_bytes: 900,
            loan: true,
        };
        let mut publisher = RecordedPublisher::new(Box::new(lender), recorder);
        let _ = publisher.send(1, Phase::Steady, cause);
        let mut slot = [0; 64];
        rustix::io::pread(&fd, &mut slot, 4096).unwrap();
        let word = |place: usize| i64::from_le_bytes(slot[place..place + 8].try_into().unwrap());
        (
            word(16),
            word(24),
            word(32),
            word(40),
            u32::from_le_bytes(slot[60..].try_into().unwrap()) >> 8,
        )
    }

    /// The address and the content of each payload.
    type Published = Vec<(usize, Vec<u8>)>;

    /// Has a message of its own, and keeps the payloads that were published.
    struct Composer {
        own: Box<[u8; 1000]>,
        published: Arc<Mutex<Published>>,
    }

    impl Endpoint for Composer {
        fn matched(&self) -> u32 {
            1
        }
        fn granted(&self) -> Granted {
            unimplemented!("a sender never asks")
        }
        fn account(&self) -> Account {
            Account::default()
        }
    }

    impl Publisher for Composer {
        fn message(&mut self, bytes: usize) -> Option<NonNull<[u8]>> {
            (bytes == self.own.len()).then(|| NonNull::from(&mut self.own[..]))
        }
        fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
            self.published.lock().unwrap().push((payload.as_ptr().addr(), payload.to_vec()));
            Ok(())
        }
    }

    #[test]
    fn who_leaves_twice_has_left_once() {
        let recorder = Recorder {
            section: None,
            endpoint: 1,
            nonce: 7,
            payload_bytes: 100,
            touched_bytes: 36,
            loan: true,
        };
        let publisher = RecordedPublisher::new(Box::new(Lender { refuses: false }), recorder);
        let slot = PublisherSlot::new(1, publisher);
        slot.leave(100);
        slot.leave(200);
        assert_eq!(slot.until_ns(), 100, "what was due before and not sent is left over");
    }

    #[test]
    fn the_payload_is_written_into_the_apis_own_message_where_it_has_one() {
        for (payload_bytes, has_own) in [(1000, true), (900, false)] {
            let published = Arc::new(Mutex::new(Published::new()));
            let composer = Composer { own: Box::new([0; 1000]), published: published.clone() };
            let own = composer.own.as_ptr().addr();
            let recorder = Recorder {
                section: None,
                endpoint: 1,
                nonce: 7,
                payload_bytes,
                touched_bytes: 800,
                loan: false,
            };
            let mut publisher = RecordedPublisher::new(Box::new(composer), recorder);
            for _ in 0..2 {
                publisher.send(1, Phase::Steady, Cause::default()).unwrap();
            }
            let published = published.lock().unwrap();
            for (seq, (place, payload)) in published.iter().enumerate() {
                assert_eq!(*place == own, has_own);
                let header = Header::read(payload).expect("the payload is a message of ours");
                assert_eq!((header.seq, header.size), (seq as u64, payload_bytes));
            }
            assert_eq!(published.len(), 2);
        }
    }

    #[test]
    fn a_refused_loan_is_a_call_that_failed_after_its_wait() {
        let (begun_ns, call_ns, return_ns, fill_ns, flags) =
            sent_by(Lender { refuses: true }, Cause::default());
        assert_eq!(flags, sent_flag::FAILED | sent_flag::LOANED);
        assert!(
            begun_ns <= call_ns && call_ns + WAIT.as_nanos() as i64 <= return_ns,
            "{call_ns} {return_ns}"
        );
        assert_eq!(fill_ns, 0);
    }

    #[test]
    fn waiting_for_a_loan_is_part_of_the_publish_call_and_its_filling_stands_apart() {
        let (_, call_ns, return_ns, fill_ns, flags) =
            sent_by(Lender { refuses: false }, Cause::default());
        assert_eq!(flags, sent_flag::LOANED);
        assert!(fill_ns > 0 && return_ns - call_ns >= fill_ns + WAIT.as_nanos() as i64);
    }

    #[test]
    fn of_a_relays_loan_the_filling_stands_where_the_message_was_begun_and_its_cause_stays() {
        let cause = Cause { endpoint: 9, seq: 42 };
        let (fill_ns, call_ns, return_ns, cause_seq, _) = sent_by(Lender { refuses: false }, cause);
        assert_eq!(cause_seq, 42);
        assert!(fill_ns > 0 && return_ns - call_ns >= fill_ns + WAIT.as_nanos() as i64);
        let (fill_ns, call_ns, return_ns, ..) = sent_by(Lender { refuses: true }, cause);
        assert!(fill_ns == 0 && call_ns + WAIT.as_nanos() as i64 <= return_ns);
    }
}
