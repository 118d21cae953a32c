//! The recorder of endpoints that read (a subscription, a client's replies, a service's requests):
//! every delivery becomes a record, and a relay publishes from here.
//!
//! The middleware's threads call it, possibly several at once. Nothing here allocates, locks or
//! enters the kernel, with two exceptions: a relay takes its publisher's lock, which is free unless
//! two callbacks of one relay run at the same time; and a consumer that must keep its messages
//! sleeps.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use crate::clock::now_ns;
use crate::middleware::{Delivery, Sink};
use crate::payload::{self, Header, NoHeader, Phase, Touch, HEADER_BYTES};
use crate::publisher::{Cause, PublisherSlot};
use crate::records::{received_flag, Received, Section};

pub struct RecordingSink {
    section: Option<Section>,
    nonce: u64,
    touch: Touch,
    writers: Vec<Writer>,
    /// The identities of the latest messages, to recognise a copy: the drain ends by a count, which
    /// copies would complete too early.
    lately: Vec<AtomicU64>,
    /// A message that is taken at or after this time is late.
    late_ns: AtomicI64,
    /// See [`RecordingSink::longest_ns`].
    longest_ns: AtomicI64,
    /// The client to which the replies are sent, if this sink reads replies.
    client: Option<u32>,
    /// How long each message is kept; zero for most endpoints.
    hold: Duration,
    relays: OnceLock<Vec<Arc<PublisherSlot>>>,
    /// This is known before the relays themselves are.
    publish_may_wait: bool,
}

/// A copy is recognised while fewer messages than this came since the first; middlewares that send
/// copies send them at once.
const LATELY: usize = 1024;

/// What the barrier and the drain need to know about a reader, per writer.
#[derive(Default)]
struct Writer {
    /// 0: free.
    endpoint: AtomicU32,
    first_ns: AtomicI64,
    messages: Heard,
    probes: Heard,
}

/// Which messages of a series of numbers from 0 were heard.
#[derive(Default)]
struct Heard {
    /// Highest sequence number, plus one.
    seen: AtomicU64,
    /// The number of messages without copies: fewer than `seen` while some are missing or
    /// overtaken.
    count: AtomicU64,
}

impl RecordingSink {
    /// `matches` is the number of writers to expect; the sink can distinguish four times as many
    /// (at least 64).
    pub fn new(section: Option<Section>, nonce: u64, touch: Touch, matches: u32) -> Self {
        let places = (matches as usize * 4).max(64).next_power_of_two();
        RecordingSink {
            section,
            nonce,
            touch,
            writers: (0..places).map(|_| Writer::default()).collect(),
            lately: (0..LATELY).map(|_| AtomicU64::new(0)).collect(),
            late_ns: AtomicI64::new(i64::MAX),
            longest_ns: AtomicI64::new(0),
            client: None,
            hold: Duration::ZERO,
            relays: OnceLock::new(),
            publish_may_wait: false,
        }
    }

    /// The same sink with a consumer that keeps each message for this long: it sleeps in the
    /// callback, during which the message's memory, also loaned memory, is still the reader's.
    /// Probes are not kept.
    pub fn holding(self, hold: Duration) -> Self {
        RecordingSink { hold, ..self }
    }

    /// The same sink for the replies to `client`: replies are counted by the requests that they
    /// answer, under the client's own number, so that [`RecordingSink::has_heard_all`] returns
    /// whether all requests were answered.
    pub fn of_client(self, client: u32) -> Self {
        RecordingSink { client: Some(client), ..self }
    }

    /// The same sink, which tells the middleware whether a publisher that may wait for
    /// acknowledgements forwards each message.
    pub fn relaying(self, publish_may_wait: bool) -> Self {
        RecordingSink { publish_may_wait, ..self }
    }

    /// Sets the publishers that forward each message; called once, before traffic. Returns false if
    /// they were set already.
    #[must_use]
    pub fn relay_to(&self, publishers: Vec<Arc<PublisherSlot>>) -> bool {
        self.relays.set(publishers).is_ok()
    }

    /// Messages that are taken from `at_ns` on are marked as late. The time of taking decides,
    /// because a message of 8 MiB that came in time may still be read when the drain ends.
    pub fn set_late(&self, at_ns: i64) {
        self.late_ns.store(at_ns, Ordering::Relaxed);
    }

    /// The longest time from a message's intended time until it was taken, probes apart, since
    /// [`RecordingSink::forget_longest`]. Writer and reader must have one clock.
    pub fn longest_ns(&self) -> i64 {
        self.longest_ns.load(Ordering::Relaxed)
    }

    pub fn forget_longest(&self) {
        self.longest_ns.store(0, Ordering::Relaxed);
    }

    /// The first message heard from each writer so far: (writer, time_ns).
    pub fn first_messages(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.writers.iter().filter_map(|w| {
            let (endpoint, first_ns) =
                (w.endpoint.load(Ordering::Relaxed), w.first_ns.load(Ordering::Acquire));
            (endpoint != 0 && first_ns != 0).then_some((endpoint, first_ns))
        })
    }

    /// Whether message `seq` of `writer`, or a later one, has arrived.
    pub fn has_seen(&self, writer: u32, seq: u64) -> bool {
        self.writer(writer).is_some_and(|w| w.messages.seen.load(Ordering::Acquire) > seq)
    }

    /// Whether message `seq` of `writer` and as many before it have arrived. The number alone is
    /// not enough: a last message that overtook others would end the drain, and the others would
    /// count as lost.
    pub fn has_heard_all(&self, writer: u32, seq: u64) -> bool {
        self.writer(writer).is_some_and(|w| {
            w.messages.seen.load(Ordering::Acquire) > seq
                && w.messages.count.load(Ordering::Acquire) > seq
        })
    }

    /// The number of messages heard so far from all writers, without probes and copies.
    pub fn heard(&self) -> u64 {
        self.writers.iter().map(|w| w.messages.count.load(Ordering::Relaxed)).sum()
    }

    /// The number of probes of `writer` heard so far, without copies, and the highest number among
    /// them plus one. For a client's own number, these are its replies.
    pub fn probes_heard(&self, writer: u32) -> (u64, u64) {
        self.writer(writer).map_or((0, 0), |w| {
            (w.probes.count.load(Ordering::Acquire), w.probes.seen.load(Ordering::Acquire))
        })
    }

    fn writer(&self, endpoint: u32) -> Option<&Writer> {
        self.writers.iter().find(|w| w.endpoint.load(Ordering::Relaxed) == endpoint)
    }

    #[inline]
    fn note(&self, header: &Header, callback_ns: i64) {
        let Some(writer) = self.place(header.writer) else { return };
        if writer.first_ns.load(Ordering::Relaxed) == 0 {
            let _ = writer.first_ns.compare_exchange(
                0,
                callback_ns,
                Ordering::Release,
                Ordering::Relaxed,
            );
        }
        let is_probe = header.phase == Phase::Probe;
        if !is_probe {
            let took_ns = callback_ns - header.intended_ns;
            if took_ns > self.longest_ns.load(Ordering::Relaxed) {
                self.longest_ns.fetch_max(took_ns, Ordering::Relaxed);
            }
        }
        match self.client {
            None => self.count(writer, header.writer, header.seq, is_probe),
            // A reply to another client answers nothing here.
            Some(client) if client != header.cause_endpoint => {}
            Some(client) => self
                .place(client)
                .into_iter()
                .for_each(|own| self.count(own, client, header.cause_seq, is_probe)),
        }
    }

    #[inline]
    fn count(&self, writer: &Writer, endpoint: u32, seq: u64, is_probe: bool) {
        let heard = if is_probe { &writer.probes } else { &writer.messages };
        // Release: a thread that sees the numbers also sees the records stored before them.
        let is_new = self.is_new(endpoint, seq, is_probe);
        heard.count.fetch_add(u64::from(is_new), Ordering::Release);
        if heard.seen.load(Ordering::Relaxed) <= seq {
            heard.seen.fetch_max(seq + 1, Ordering::Release);
        }
    }

    /// The place of `endpoint`, taken at its first message; None if there are more writers than
    /// were expected.
    #[inline]
    fn place(&self, endpoint: u32) -> Option<&Writer> {
        let mask = self.writers.len() - 1;
        (0..self.writers.len()).map(|step| &self.writers[(endpoint as usize + step) & mask]).find(
            |w| {
                let holder = w.endpoint.load(Ordering::Relaxed);
                holder == endpoint
                    || holder == 0
                        && match w.endpoint.compare_exchange(
                            0,
                            endpoint,
                            Ordering::Relaxed,
                            Ordering::Relaxed,
                        ) {
                            Ok(_) => true,
                            Err(other) => other == endpoint,
                        }
            },
        )
    }

    #[inline]
    fn is_new(&self, endpoint: u32, seq: u64, is_probe: bool) -> bool {
        let place = (seq as usize).wrapping_add(endpoint as usize * 61) % LATELY;
        // The sequence numbers of probes are a series of their own.
        let identity = u64::from(endpoint) << 40 ^ (seq + 1) ^ u64::from(is_probe) << 39;
        self.lately[place].swap(identity, Ordering::Relaxed) != identity
    }

    fn foreign(
        &self,
        delivery: &Delivery<'_>,
        callback_ns: i64,
        flags: u32,
    ) -> Option<(Header, i64)> {
        if let Some(section) = &self.section {
            section.received(&Received {
                notified_ns: delivery.notified_ns,
                taken_ns: delivery.taken_ns,
                callback_ns,
                consumed_ns: callback_ns,
                bytes: delivery.payload.len() as u32,
                flags: flags | received_flag::FOREIGN,
                ..Received::default()
            });
        }
        None
    }

    /// Records a delivery. Returns its header and when its callback began, or None for a message
    /// that is not of this trial.
    #[inline]
    pub fn record(&self, delivery: &Delivery<'_>) -> Option<(Header, i64)> {
        let callback_ns = now_ns();
        let header = match Header::read(delivery.payload) {
            Ok(header) if header.nonce == self.nonce => header,
            Err(NoHeader::Damaged) => {
                return self.foreign(delivery, callback_ns, received_flag::CORRUPT)
            }
            Ok(_) | Err(NoHeader::Foreign) => return self.foreign(delivery, callback_ns, 0),
        };
        let whole = delivery.payload.len() == header.size as usize
            && header.touched as usize <= delivery.payload.len() - HEADER_BYTES;
        let intact = whole
            && (self.touch != Touch::All || {
                let body = &delivery.payload[HEADER_BYTES..HEADER_BYTES + header.touched as usize];
                payload::intact(&header, body) || delivery.lossy // read all the same
            });
        let consumed_ns = now_ns();
        if header.phase != Phase::Probe {
            let mut flags = if header.phase == Phase::Warmup { received_flag::WARMUP } else { 0 };
            if !intact {
                flags |= received_flag::CORRUPT;
            }
            if delivery.zero_copy {
                flags |= received_flag::ZERO_COPY;
            }
            if delivery.taken_ns >= self.late_ns.load(Ordering::Relaxed) {
                flags |= received_flag::LATE;
            }
            let received = Received {
                seq: header.seq,
                notified_ns: delivery.notified_ns,
                taken_ns: delivery.taken_ns,
                callback_ns,
                consumed_ns: if self.hold.is_zero() { consumed_ns } else { 0 },
                intended_ns: header.intended_ns,
                writer: header.writer,
                bytes: delivery.payload.len() as u32,
                flags,
            };
            let kept = self.section.as_ref().and_then(|section| section.taken(&received));
            if !self.hold.is_zero() {
                // The message is recorded before the sleep: a process that is killed meanwhile
                // leaves a message that was taken and never consumed.
                thread::sleep(self.hold);
                kept.into_iter().for_each(|kept| kept.consumed(now_ns()));
            }
        }
        self.note(&header, callback_ns);
        Some((header, callback_ns))
    }
}

impl Sink for RecordingSink {
    #[inline]
    fn deliver(&self, delivery: &Delivery<'_>) {
        let Some((header, callback_ns)) = self.record(delivery) else { return };
        for relay in self.relays.get().into_iter().flatten() {
            if callback_ns >= relay.stop_ns() {
                continue;
            }
            if let Some(publisher) = relay.publisher.lock().expect("a relay panicked").as_mut() {
                // The publisher records a failed relay as failed, and the ledger counts it.
                let _ = publisher.send(
                    callback_ns,
                    header.phase,
                    Cause { endpoint: header.writer, seq: header.seq },
                );
            }
        }
    }

    fn publish_may_wait(&self) -> bool {
        self.publish_may_wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{layout, memfd, Kind, Records};

    fn message(nonce: u64, writer: u32, seq: u64, phase: Phase) -> Vec<u8> {
        let mut payload = vec![0; 200];
        Header {
            writer,
            nonce,
            seq,
            intended_ns: 1,
            cause_seq: 0,
            cause_endpoint: 0,
            size: 200,
            phase,
            touched: 136,
        }
        .write(&mut payload);
        payload::fill(&mut payload[64..], writer, seq);
        payload
    }

    fn deliver(sink: &RecordingSink, payload: &[u8]) {
        sink.deliver(&Delivery {
            notified_ns: 2,
            taken_ns: 3,
            payload,
            zero_copy: false,
            lossy: false,
        });
    }

    fn flags_of(fd: &std::os::fd::OwnedFd) -> Vec<u32> {
        let mut bytes = vec![0; 4096 + 10 * 64];
        rustix::io::pread(fd, &mut bytes, 0).unwrap();
        let slots = bytes[4096..]
            .chunks(64)
            .map(|slot| u32::from_le_bytes(slot[60..64].try_into().unwrap()));
        slots.take_while(|&last| last != 0).map(|last| last >> 8).collect()
    }

    #[test]
    fn damage_foreigners_and_lateness_are_told_apart() {
        let fd = memfd(&layout(77, &[(Kind::Received, 2, 10)])).unwrap();
        let records = Records::map(fd.try_clone().unwrap()).unwrap();
        let sink = RecordingSink::new(records.section(Kind::Received, 2), 77, Touch::All, 1);
        deliver(&sink, &message(77, 1, 0, Phase::Probe)); // leaves no record
        deliver(&sink, &message(77, 1, 0, Phase::Warmup));
        deliver(&sink, &message(77, 1, 1, Phase::Steady));
        let mut damaged = message(77, 1, 2, Phase::Steady);
        damaged[150] ^= 1;
        deliver(&sink, &damaged);
        damaged[20] ^= 1;
        deliver(&sink, &damaged);
        deliver(&sink, &message(78, 1, 3, Phase::Steady));
        deliver(&sink, b"hello");
        deliver(&sink, &message(77, 1, 4, Phase::Steady)[..190]);
        sink.set_late(3); // `deliver` stamps taken_ns = 3
        deliver(&sink, &message(77, 1, 5, Phase::Steady));
        use received_flag::*;
        assert_eq!(
            flags_of(&fd),
            [WARMUP, 0, CORRUPT, CORRUPT | FOREIGN, FOREIGN, FOREIGN, CORRUPT, LATE]
        );
    }

    #[test]
    fn a_lossy_message_may_have_another_body_but_not_another_size() {
        let fd = memfd(&layout(77, &[(Kind::Received, 2, 10)])).unwrap();
        let records = Records::map(fd.try_clone().unwrap()).unwrap();
        let sink = RecordingSink::new(records.section(Kind::Received, 2), 77, Touch::All, 1);
        let lossy = |payload: &[u8]| {
            sink.deliver(&Delivery {
                notified_ns: 2,
                taken_ns: 3,
                payload,
                zero_copy: false,
                lossy: true,
            })
        };
        let mut changed = message(77, 1, 0, Phase::Steady);
        changed[150] ^= 1;
        lossy(&changed);
        lossy(&changed[..190]);
        changed[20] ^= 1;
        lossy(&changed);
        assert_eq!(
            flags_of(&fd),
            [0, received_flag::CORRUPT, received_flag::CORRUPT | received_flag::FOREIGN]
        );
    }

    #[test]
    fn a_message_that_is_kept_is_taken_but_not_consumed_until_it_is_given_back() {
        let fd = memfd(&layout(77, &[(Kind::Received, 2, 10)])).unwrap();
        let records = Records::map(fd.try_clone().unwrap()).unwrap();
        let hold = Duration::from_secs(1);
        let sink =
            RecordingSink::new(records.section(Kind::Received, 2), 77, Touch::All, 1).holding(hold);
        deliver(&sink, &message(77, 1, 0, Phase::Probe)); // is not kept
        let consumed_ns = || {
            let mut slot = [0; 64];
            rustix::io::pread(&fd, &mut slot, 4096).unwrap();
            (slot[60] != 0).then(|| i64::from_le_bytes(slot[32..40].try_into().unwrap()))
        };
        let begun_ns = now_ns();
        thread::scope(|scope| {
            let consumer = scope.spawn(|| deliver(&sink, &message(77, 1, 0, Phase::Steady)));
            let seen = std::iter::repeat_with(consumed_ns).find_map(|consumed| consumed).unwrap();
            assert!(
                seen == 0 || now_ns() - begun_ns >= hold.as_nanos() as i64,
                "consumed at {seen}"
            );
            assert!(!sink.has_seen(1, 0) || consumed_ns() != Some(0)); // a drain waits for it
            consumer.join().unwrap();
        });
        assert!(consumed_ns().unwrap() - begun_ns >= hold.as_nanos() as i64);
        assert!(sink.has_seen(1, 0));
    }

    #[test]
    fn writers_are_told_apart_however_their_numbers_collide() {
        let sink = RecordingSink::new(None, 1, Touch::Header, 2);
        for writer in [1, 65, 129] {
            deliver(&sink, &message(1, writer, u64::from(writer), Phase::Steady));
        }
        let mut heard: Vec<u32> = sink.first_messages().map(|(w, _)| w).collect();
        heard.sort_unstable();
        assert_eq!(heard, [1, 65, 129]);
    }

    #[test]
    fn a_drain_waits_for_what_the_last_message_overtook() {
        let sink = RecordingSink::new(None, 1, Touch::Header, 1);
        for seq in [0, 3, 1] {
            deliver(&sink, &message(1, 9, seq, Phase::Steady));
        }
        assert!(!sink.has_heard_all(9, 3));
        deliver(&sink, &message(1, 9, 2, Phase::Steady));
        assert!(sink.has_heard_all(9, 3) && !sink.has_heard_all(9, 4) && !sink.has_heard_all(8, 0));
    }

    #[test]
    fn a_client_counts_the_requests_that_were_answered_and_only_its_own() {
        let sink = RecordingSink::new(None, 1, Touch::Header, 1).of_client(3);
        let reply = |seq: u64, cause_endpoint: u32, cause_seq: u64| {
            let mut payload = vec![0; 64];
            let (size, phase) = (64, Phase::Steady);
            Header {
                writer: 9,
                nonce: 1,
                seq,
                intended_ns: 1,
                cause_seq,
                cause_endpoint,
                size,
                phase,
                touched: 0,
            }
            .write(&mut payload);
            deliver(&sink, &payload);
        };
        reply(0, 3, 1);
        reply(1, 4, 0); // another client's, which a worker should have dropped
        reply(2, 3, 2);
        reply(3, 3, 2); // the same request, answered by another message: still one answer
        assert!(!sink.has_heard_all(3, 2));
        reply(4, 3, 0);
        assert!(sink.has_heard_all(3, 2) && !sink.has_heard_all(4, 0) && !sink.has_heard_all(9, 0));
        assert_eq!(sink.first_messages().map(|(writer, _)| writer).collect::<Vec<_>>(), [9]);
    }

    #[test]
    fn copies_do_not_end_a_drain_for_what_is_missing() {
        let sink = RecordingSink::new(None, 1, Touch::Header, 2);
        for seq in [0, 0, 1, 1, 3, 3] {
            deliver(&sink, &message(1, 9, seq, Phase::Steady));
            deliver(&sink, &message(1, 8, seq, Phase::Steady)); // two writers do not take each other's messages for copies
        }
        assert!(!sink.has_heard_all(9, 3) && !sink.has_heard_all(8, 3));
        deliver(&sink, &message(1, 9, 2, Phase::Steady));
        assert!(sink.has_heard_all(9, 3) && !sink.has_heard_all(8, 3));
    }
}
