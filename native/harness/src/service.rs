//! A service with its recorder: every request becomes a RECEIVED record, every reply a SENT record
//! whose cause is the request.
//!
//! Callbacks may come from several threads at once, and then replies are sent at the same time,
//! too: only the sequence numbers are taken under a lock, never the reply itself, because
//! simultaneous replies are the purpose of a service with several threads.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::clock::now_ns;
use crate::middleware::{Delivery, Handler, Reply};
use crate::publisher::{Attempt, Cause, Recorder, Tally, Way};
use crate::sink::RecordingSink;

pub struct RecordedService {
    sink: Arc<RecordingSink>,
    recorder: Recorder,
    replies: Mutex<Replies>,
    /// Requests whose handling begins at or after this time are not answered.
    stop_ns: AtomicI64,
}

struct Replies {
    tally: Tally,
    /// Replies that are being written or sent now.
    under_way: u32,
    /// Sources that are not in use by a reply; a thread that finds none makes one, once.
    messages: Vec<Vec<u8>>,
}

impl RecordedService {
    /// `sink` records the requests, `recorder` records the replies.
    pub fn new(sink: Arc<RecordingSink>, recorder: Recorder) -> Self {
        let replies =
            Replies { tally: Tally::default(), under_way: 0, messages: vec![recorder.message()] };
        RecordedService {
            sink,
            recorder,
            replies: Mutex::new(replies),
            stop_ns: AtomicI64::new(i64::MAX),
        }
    }

    /// From `at_ns` on, requests are still recorded and no longer answered.
    pub fn stop(&self, at_ns: i64) {
        self.stop_ns.store(at_ns, Ordering::Release);
    }

    /// The counts, unless a reply is under way; after [`RecordedService::stop`] with a time in the
    /// past they are final.
    pub fn at_rest(&self) -> Option<Tally> {
        let replies = self.replies();
        (replies.under_way == 0).then_some(replies.tally)
    }

    pub fn tally(&self) -> Tally {
        self.replies().tally
    }

    fn replies(&self) -> MutexGuard<'_, Replies> {
        self.replies.lock().expect("a service panicked")
    }
}

impl Handler for RecordedService {
    #[inline]
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        let Some((header, callback_ns)) = self.sink.record(request) else { return };
        let begun_ns = now_ns();
        let (seq, spare) = {
            let mut replies = self.replies();
            // This is under the lock: a thread that finds no reply under way after a stop has the
            // last number.
            if callback_ns >= self.stop_ns.load(Ordering::Acquire) {
                return;
            }
            replies.under_way += 1;
            (replies.tally.next(header.phase), replies.messages.pop())
        };
        let mut ours = spare.unwrap_or_else(|| self.recorder.message());
        let own = reply.message(self.recorder.payload_bytes as usize);
        // SAFETY: the trait promises that the memory is valid until `send` was called with it, and
        // that nobody else touches it.
        let message = match own {
            Some(mut message) => unsafe { message.as_mut() },
            None => &mut ours[..],
        };
        let cause = Cause { endpoint: header.writer, seq: header.seq };
        let attempt =
            Attempt { begun_ns, seq, intended_ns: callback_ns, phase: header.phase, cause };
        // A failed reply is recorded as failed, and the ledger counts it.
        let way = Way::Copy { message, publish: &mut |payload| reply.send(payload) };
        let result = self.recorder.send(attempt, way);
        let mut replies = self.replies();
        replies.tally.note(header.phase, seq, result);
        replies.messages.push(ours);
        replies.under_way -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use std::ptr::NonNull;

    use super::*;
    use crate::middleware::PublishError;
    use crate::payload::{Header, Phase, Touch};

    fn service() -> RecordedService {
        let sink = Arc::new(RecordingSink::new(None, 1, Touch::All, 1));
        RecordedService::new(
            sink,
            Recorder {
                section: None,
                endpoint: 9,
                nonce: 1,
                payload_bytes: 100,
                touched_bytes: 36,
                loan: false,
            },
        )
    }

    fn request(seq: u64, phase: Phase) -> Vec<u8> {
        let mut payload = vec![0; 64];
        let (cause_seq, cause_endpoint, size, touched) = (0, 0, 64, 0);
        Header {
            writer: 4,
            nonce: 1,
            seq,
            intended_ns: 5,
            cause_seq,
            cause_endpoint,
            size,
            phase,
            touched,
        }
        .write(&mut payload);
        payload
    }

    fn ask(service: &RecordedService, payload: &[u8], reply: &mut dyn Reply) {
        service.handle(
            &Delivery { notified_ns: 1, taken_ns: 2, payload, zero_copy: false, lossy: false },
            reply,
        );
    }

    #[test]
    fn a_reply_names_its_request_and_keeps_its_phase() {
        let service = service();
        let mut replies = Vec::new();
        for payload in
            [request(7, Phase::Probe), request(7, Phase::Warmup), request(8, Phase::Steady)]
        {
            ask(&service, &payload, &mut |reply: &[u8]| {
                let header = Header::read(reply).unwrap();
                replies.push((
                    header.writer,
                    header.seq,
                    header.cause_endpoint,
                    header.cause_seq,
                    header.phase,
                ));
                assert!(crate::payload::verify(&reply[64..], 9, header.seq));
                Ok(())
            });
        }
        assert_eq!(
            replies,
            [(9, 0, 4, 7, Phase::Probe), (9, 0, 4, 7, Phase::Warmup), (9, 1, 4, 8, Phase::Steady)]
        );
        assert_eq!((service.tally().attempted(), service.tally().last_sent_seq()), (2, Some(1)));
    }

    /// A middleware whose users write into the API's own reply.
    #[derive(Default)]
    struct Own {
        message: Vec<u8>,
        sent_from: Option<*const u8>,
    }

    impl Reply for Own {
        fn message(&mut self, bytes: usize) -> Option<NonNull<[u8]>> {
            self.message.resize(bytes, 0);
            Some(NonNull::from(&mut self.message[..]))
        }

        fn send(&mut self, payload: &[u8]) -> Result<(), PublishError> {
            self.sent_from = Some(payload.as_ptr());
            Ok(())
        }
    }

    #[test]
    fn a_reply_is_written_into_the_apis_own_message_where_it_has_one() {
        let (service, mut own) = (service(), Own::default());
        ask(&service, &request(7, Phase::Steady), &mut own);
        assert_eq!(own.sent_from, Some(own.message.as_ptr()), "nothing is copied");
        let header = Header::read(&own.message).unwrap();
        assert_eq!((header.writer, header.seq, header.cause_seq), (9, 0, 7));
        assert!(crate::payload::verify(&own.message[64..], 9, 0));
    }

    #[test]
    fn replies_of_several_threads_are_under_way_together_and_their_numbers_dense() {
        let service = service();
        let both = Barrier::new(2);
        let seqs = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (service, both, seqs) = (&service, &both, &seqs);
                scope.spawn(move || {
                    for n in 0..50 {
                        ask(
                            service,
                            &request(2 * n + thread, Phase::Steady),
                            &mut |reply: &[u8]| {
                                both.wait(); // never returns if one reply waits for the other
                                assert_eq!(service.at_rest().map(|t| t.attempted()), None);
                                seqs.lock().unwrap().push(Header::read(reply).unwrap().seq);
                                Ok(())
                            },
                        );
                    }
                });
            }
        });
        let mut seqs = seqs.into_inner().unwrap();
        seqs.sort_unstable();
        assert_eq!(seqs, (0..100).collect::<Vec<u64>>());
        assert_eq!(service.at_rest().unwrap().last_sent_seq(), Some(99));
        assert_eq!(service.replies().messages.len(), 2, "a source per thread, made once");
    }

    #[test]
    fn nothing_is_answered_after_a_stop_and_failures_are_counted() {
        let service = service();
        ask(&service, &request(0, Phase::Steady), &mut |_: &[u8]| Err(PublishError::Full));
        ask(&service, &request(1, Phase::Steady), &mut |_: &[u8]| Ok(()));
        ask(&service, b"somebody else's", &mut |_: &[u8]| panic!("not of this trial"));
        service.stop(0);
        ask(&service, &request(2, Phase::Steady), &mut |_: &[u8]| panic!("after the stop"));
        let tally = service.at_rest().unwrap();
        assert_eq!((tally.attempted(), tally.failed(), tally.last_sent_seq()), (2, 1, Some(1)));
    }
}
