//! Publishers and subscriptions: the floor's, with the injected effects in between.
//!
//! After each payload follow 24 bytes of our own: when the publish call began, the publisher's
//! count and its endpoint. The harness's header is the identity that decides a message's fate; for
//! a payload without one (below 64 bytes) our own count decides.

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
    /// A publisher that applies the effects of `settings` on the publishing side.
    pub fn sender(
        &mut self,
        config: &EndpointConfig,
        settings: Arc<Settings>,
    ) -> Result<SyntheticPublisher, Error> {
        let floor = self.floor.publisher(&below(config))?;
        Ok(SyntheticPublisher {
            floor,
            settings,
            config: config.clone(),
            count: 0,
            message: Vec::new(),
            hoard: Hoard::default(),
        })
    }

    /// A subscription that applies the effects of `settings` on the reading side. `before` may
    /// filter messages: it gets the sink that applies the effects and returns the sink that the
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
        Ok(SyntheticSubscription { floor: Some(floor), reader, settings, config: config.clone() })
    }
}

/// The configuration of the floor's endpoint: always reliable and deep, so that every lost message
/// is an injected loss.
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

fn granted(config: &EndpointConfig, floor: &dyn Endpoint) -> Granted {
    let mut notes =
        vec!["the channel below is reliable whatever was asked: only injected losses occur"
            .to_string()];
    notes.extend(floor.granted().notes);
    Granted { qos: config.qos.clone(), wait: config.wait, notes, ..floor.granted() }
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
    config: EndpointConfig,
    count: u64,
    /// The payload and the trailer, if the channel below has no loans.
    message: Vec<u8>,
    hoard: Hoard,
}

impl SyntheticPublisher {
    fn trailer(&self, call_ns: i64) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(&call_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.config.endpoint.to_le_bytes());
        bytes
    }

    /// Spends the remaining cost of the publish call.
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
            call_ns = now_ns(); // the commit begins here; before it was the writing
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
        granted(&self.config, &*self.floor)
    }

    fn account(&self) -> Account {
        account(&self.settings, &*self.floor)
    }
}

pub struct SyntheticSubscription {
    /// This is taken first when the subscription ends.
    floor: Option<Box<dyn Subscription>>,
    reader: Arc<Reader>,
    settings: Arc<Settings>,
    config: EndpointConfig,
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
        let granted = granted(&self.config, self.floor());
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

/// The floor's sink: it decides the fate of each message.
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
        // Without a header nothing shows when warm-up ends.
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
                // Each copy is a message of its own, taken when it is delivered.
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

/// Changes one byte: one that the reader checks after the header, or else one of the header's own
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
