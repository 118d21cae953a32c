//! The matched endpoints: counted from the endpoints that discovery knows, by RustDDS's own test of
//! QoS.
//!
//! A status event reports each match, but RustDDS drops the fifth unread event, and offers no other
//! count (its `get_matched_subscriptions` is a placeholder that panics). Discovery knows the
//! endpoints of other participants; those of this one are listed here.

use std::sync::Mutex;

use rmwbench_harness::message_type::MessageType;
use rustdds::{DomainParticipant, QosPolicies, RTPSEntity as _};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Writer,
    Reader,
}

/// An endpoint as its peers see it.
#[derive(Clone, Debug)]
pub struct Card {
    pub number: usize,
    pub side: Side,
    pub topic: String,
    pub type_name: String,
    pub qos: QosPolicies,
}

impl Card {
    pub fn new(
        number: usize,
        side: Side,
        topic: &str,
        message_type: &MessageType,
        qos: &QosPolicies,
    ) -> Card {
        Card {
            number,
            side,
            topic: topic.to_string(),
            type_name: message_type.dds_type_name(),
            qos: qos.clone(),
        }
    }

    fn fits(&self, topic: &str, type_name: &str, qos: &QosPolicies) -> bool {
        let offered = if self.side == Side::Writer { (&self.qos, qos) } else { (qos, &self.qos) };
        self.topic == topic
            && self.type_name == type_name
            && offered.0.compliance_failure_wrt(offered.1).is_none()
    }
}

/// The endpoints of this process.
#[derive(Default)]
pub struct Peers(Mutex<Vec<Card>>);

impl Peers {
    pub fn enter(&self, card: Card) {
        self.0.lock().expect("counting panicked").push(card);
    }

    pub fn leave(&self, number: usize) {
        self.0.lock().expect("counting panicked").retain(|card| card.number != number);
    }

    pub fn matched(&self, card: &Card, participant: &DomainParticipant) -> u32 {
        let own = participant.guid().prefix;
        let local = self.0.lock().expect("counting panicked");
        let local = local
            .iter()
            .filter(|other| {
                other.side != card.side && card.fits(&other.topic, &other.type_name, &other.qos)
            })
            .count();
        let remote = match card.side {
            Side::Writer => {
                let all = participant.discovered_readers();
                let of_others = all
                    .iter()
                    .filter(|discovered| discovered.reader_proxy.remote_reader_guid.prefix != own);
                of_others
                    .map(|discovered| &discovered.subscription_topic_data)
                    .filter(|d| card.fits(d.topic_name(), d.type_name(), &d.qos()))
                    .count()
            }
            Side::Reader => {
                let all = participant.discovered_writers();
                let of_others = all
                    .iter()
                    .filter(|discovered| discovered.writer_proxy.remote_writer_guid.prefix != own);
                of_others
                    .map(|discovered| &discovered.publication_topic_data)
                    .filter(|d| card.fits(&d.topic_name, &d.type_name, &d.qos()))
                    .count()
            }
        };
        (local + remote) as u32
    }
}
