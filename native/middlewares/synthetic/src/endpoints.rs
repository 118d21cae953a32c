//! Publishers and subscriptions: the floor's, with a hand in between.
//!
//! Behind each payload travel 24 bytes of our own: when the publish call began, the publisher's
//! count and its endpoint. The identity that decides a message's fate is the harness's header; a
//! payload without one (below 64 bytes) goes by our own count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, Node, PublishError, Publisher,
    Sink, Subscription, TakenAs, Wait,
};
use rmwbench_harness::payload::{Header, Phase, HEADER_BYTES};
use rmwbench_harness::qos::{History, Qos, Reliability};

use crate::cost::{burn, wait_until, Hoard};
use crate::delivery::{DeliveryThread, Held};
use crate::reader::Reader;
use crate::settings::Settings;

pub const TRAILER_BYTES: usize = 24;

pub struct SyntheticNode {
    pub floor: Box<dyn Node>,
    pub settings: Arc<Settings>,
    pub nonce: u64,
    pub delivery: Option<Arc<DeliveryThread>>,
}

impl SyntheticNode {
    /// A publisher to whose messages `settings` does what belongs to the publishing side.
    pub fn sender(
        &mut self,
        config: &EndpointConfig,
        settings: Arc<Settings>,
    ) -> Result<SyntheticPublisher, Error> {
        let floor = self.floor.publisher(&below(config))?;
        Ok(SyntheticPublisher {
            floor,
            settings,
            asked: config.clone(),
            count: 0,
            message: Vec::new(),
            hoard: Hoard::default(),
        })
    }

    /// A subscription to whose messages `settings` does what belongs to the reading side. `before`
    /// may keep messages from that: it gets the sink that does it and gives the one that the
    /// channel calls.
    pub fn reader(
        &mut self,
        config: &EndpointConfig,
        settings: Arc<Settings>,
        sink: Arc<dyn Sink>,
        before: impl FnOnce(Arc<dyn Sink>) -> Arc<dyn Sink>,
    ) -> Result<SyntheticSubscription, Error> {
        let reader = Arc::new(Reader::new(settings.clone(), self.nonce, sink));
        let shaper = Arc::new(Shaper { reader: reader.clone(), delivery: self.delivery.clone() });
        let floor = self.floor.subscription(&below(config), before(shaper))?;
        Ok(SyntheticSubscription { floor: Some(floor), reader, settings, asked: config.clone() })
    }
}

/// The floor's endpoint: always reliable and deep, so that no message is lost but by our hand.
fn below(config: &EndpointConfig) -> EndpointConfig {
    let mut below = config.clone();
    below.qos = Qos {
        reliability: Reliability::Reliable,
        history: History::KeepAll,
        durability: config.qos.durability,
        content_filter: config.qos.content_filter.clone(),
        instance_key: config.qos.instance_key.clone(),
        depth: config.qos.depth,
    };
    if below.wait == Wait::Callback {
        below.wait = Wait::Block;
    }
    below.message_type = MessageType {
        payload_bytes: config.message_type.payload_bytes + TRAILER_BYTES as u32,
        ..config.message_type.clone()
    };
    below
}

fn granted(asked: &EndpointConfig, floor: &dyn Endpoint) -> Granted {
    let mut notes =
        vec!["the channel below is reliable whatever was asked: only injected losses occur"
            .to_string()];
    notes.extend(floor.granted().notes);
    Granted { qos: asked.qos.clone(), wait: asked.wait, notes, ..floor.granted() }
}

fn account(settings: &Settings, floor: &dyn Endpoint) -> Account {
    let mut account = floor.account();
    if let Some(path) = &settings.lying_path {
        account.evidence.iter_mut().for_each(|e| e.path.clone_from(path));
    }
    account
}

pub struct SyntheticPublisher {
    floor: Box<dyn Publisher>,
    settings: Arc<Settings>,
    asked: EndpointConfig,
    count: u64,
    /// Payload and trailer, where the channel below has no loans.
    message: Vec<u8>,
    hoard: Hoard,
}

impl SyntheticPublisher {
    fn trailer(&self, call_ns: i64) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(&call_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.asked.endpoint.to_le_bytes());
        bytes
    }

    /// What the rest of the publish call costs.
    fn finish(
        &mut self,
        call_ns: i64,
        result: Result<(), PublishError>,
    ) -> Result<(), PublishError> {
        self.count += 1;
        burn(self.settings.cpu_burn_ns.publisher);
        self.hoard.grow(self.settings.memory_growth_bytes.publisher);
        if self.settings.publish_block_ns > 0 {
            wait_until(call_ns + self.settings.publish_block_ns, self.settings.spin_ns);
        }
        result
    }
}

impl Publisher for SyntheticPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let call_ns = now_ns();
        let trailer = self.trailer(call_ns);
        let bytes = payload.len() + TRAILER_BYTES;
        let result = match self.settings.transport.as_str() {
            "shm_ring" => self.floor.publish_loaned(bytes, &mut |slot| {
                slot[..payload.len()].copy_from_slice(payload);
                slot[payload.len()..].copy_from_slice(&trailer);
            }),
            _ => {
                self.message.clear();
                self.message.extend_from_slice(payload);
                self.message.extend_from_slice(&trailer);
                self.floor.publish(&self.message)
            }
        };
        self.finish(call_ns, result)
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let mut call_ns = now_ns();
        let mut trailer = self.trailer(0);
        let result = self.floor.publish_loaned(bytes + TRAILER_BYTES, &mut |slot| {
            fill(&mut slot[..bytes]);
            call_ns = now_ns(); // the commit: what came before was the writing
            trailer[..8].copy_from_slice(&call_ns.to_le_bytes());
            slot[bytes..].copy_from_slice(&trailer);
        });
        self.finish(call_ns, result)
    }
}

impl Endpoint for SyntheticPublisher {
    fn matched(&self) -> u32 {
        self.floor.matched()
    }

    fn granted(&self) -> Granted {
        granted(&self.asked, &*self.floor)
    }

    fn account(&self) -> Account {
        account(&self.settings, &*self.floor)
    }
}

pub struct SyntheticSubscription {
    /// Taken first when the subscription ends.
    floor: Option<Box<dyn Subscription>>,
    reader: Arc<Reader>,
    settings: Arc<Settings>,
    asked: EndpointConfig,
}

impl SyntheticSubscription {
    fn floor(&self) -> &dyn Subscription {
        &**self.floor.as_ref().expect("it is there until drop")
    }
}

impl Subscription for SyntheticSubscription {}

impl Endpoint for SyntheticSubscription {
    fn matched(&self) -> u32 {
        self.floor().matched()
    }

    fn granted(&self) -> Granted {
        let granted = granted(&self.asked, self.floor());
        match self.settings.holds_messages() {
            true => Granted { take: Some(TakenAs::Typed), ..granted },
            false => granted,
        }
    }

    fn account(&self) -> Account {
        let mut account = account(&self.settings, self.floor());
        account.counters.extend(self.reader.injected.counters());
        account
    }
}

impl Drop for SyntheticSubscription {
    fn drop(&mut self) {
        self.floor.take();
        self.reader.end();
    }
}

/// The floor's sink: decides what happens to each message.
struct Shaper {
    reader: Arc<Reader>,
    delivery: Option<Arc<DeliveryThread>>,
}

impl Sink for Shaper {
    fn deliver(&self, delivery: &Delivery<'_>) {
        let Some(bytes) = delivery.payload.len().checked_sub(TRAILER_BYTES) else { return };
        let (payload, trailer) = delivery.payload.split_at(bytes);
        let header = Header::read(payload).ok();
        let reader = &*self.reader;
        let call_ns = i64::from_le_bytes(trailer[..8].try_into().unwrap());
        if header.is_some_and(|h| h.phase == Phase::Probe) {
            return match (&self.delivery, reader.probe_due_ns(call_ns)) {
                (Some(thread), Some(due_ns)) => thread.hold(Held {
                    due_ns,
                    reader: self.reader.clone(),
                    message: payload.to_vec(),
                    times: 1,
                    is_steady: false,
                }),
                _ => reader.hand_over(&Delivery { payload, ..*delivery }),
            };
        }
        let (writer, seq) = match header {
            Some(h) => (h.writer, h.seq),
            None => (
                u32::from_le_bytes(trailer[16..20].try_into().unwrap()),
                u64::from_le_bytes(trailer[8..16].try_into().unwrap()),
            ),
        };
        // Without a header nobody says when warm-up ends.
        let is_steady = header.is_none_or(|h| h.phase == Phase::Steady);
        let part = reader.injected.of(is_steady);
        let count =
            |counter: &AtomicU64, is: bool| counter.fetch_add(u64::from(is), Ordering::Relaxed);
        let (truth, due_ns) = reader.fate(writer, seq, reader.served(call_ns));
        count(&part.lost, truth.lost);
        if truth.lost {
            return;
        }
        count(&part.delivered, true);
        count(&part.duplicated, truth.duplicated);
        count(&part.reordered, truth.reordered);
        count(&part.corrupted, truth.corrupt.is_some());
        let times = if truth.duplicated { 2 } else { 1 };
        match &self.delivery {
            Some(delivery) => {
                part.latency_sum_ns.fetch_add((due_ns - call_ns) as u64, Ordering::Relaxed);
                let mut message = payload.to_vec();
                damage(&mut message, header, truth.corrupt);
                delivery.hold(Held {
                    due_ns,
                    reader: self.reader.clone(),
                    message,
                    times,
                    is_steady,
                });
            }
            None if truth.corrupt.is_some() => {
                let mut message = payload.to_vec();
                damage(&mut message, header, truth.corrupt);
                (0..times).for_each(|_| {
                    reader.hand_over(&Delivery::taken(delivery.notified_ns, &message, false))
                });
                reader.pay();
            }
            None => {
                // Each copy is a message of its own, taken when it is handed over.
                (0..times).for_each(|_| {
                    reader.hand_over(&Delivery::taken(
                        delivery.notified_ns,
                        payload,
                        delivery.zero_copy,
                    ))
                });
                reader.pay();
            }
        }
    }
}

/// Changes one byte: of what the reader checks behind the header, or else of the header's own
/// check.
fn damage(message: &mut [u8], header: Option<Header>, corrupt: Option<u64>) {
    let Some(draw) = corrupt.filter(|_| !message.is_empty()) else { return };
    let (start, length) = match header {
        None => (0, message.len()),
        Some(h) if h.touched > 0 => (HEADER_BYTES, h.touched as usize),
        Some(_) => (HEADER_BYTES - 8, 8),
    };
    message[start + (draw >> 8) as usize % length] ^= (draw as u8).max(1);
}
