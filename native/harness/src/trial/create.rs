//! `create`: creates all nodes of a command with their endpoints, or none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{CreatedNode, Publishing, Reading, Serving, Trial};
use crate::clock::now_ns;
use crate::frames::Frames;
use crate::message_type::MessageType;
use crate::middleware::{EndpointConfig, Error, Granted, Handler, Node, Sink, Take};
use crate::payload::{touched_bytes, Touch, HEADER_BYTES};
use crate::protocol::{Arrival, Created, CreatedEndpoint, EndpointKind, EndpointSpec, NodeSpec};
use crate::publisher::{PublisherSlot, RecordedPublisher, Recorder};
use crate::qos::{History, Qos, Reliability};
use crate::records::Kind;
use crate::service::RecordedService;
use crate::sink::RecordingSink;

/// The longest time that a consumer may keep a message: a minute, because the destruction of a
/// reader waits for its callback.
const MOST_HOLD_NS: u64 = 60_000_000_000;

impl Trial<'_> {
    /// Creates all or nothing: an endpoint that outlives its node, or a number that stays taken,
    /// would make the next command fail instead.
    pub(super) fn create(&mut self, nodes: Vec<NodeSpec>) -> Result<Value, Error> {
        let known: BTreeSet<u32> =
            self.publishers.keys().chain(self.readers.keys()).copied().collect();
        let names: BTreeSet<String> = self.nodes.keys().cloned().collect();
        let mut unfinished = None;
        let result = self.create_all(nodes, &mut unfinished);
        if result.is_err() {
            self.readers.retain(|e, _| known.contains(e));
            self.services.retain(|e, _| known.contains(e));
            // A sink may still hold the slot of a relay's publisher: the slot is emptied, not only
            // dropped.
            for (_, new) in self.publishers.iter().filter(|(e, _)| !known.contains(e)) {
                new.slot.publisher.lock().expect("a publisher panicked").take();
            }
            self.publishers.retain(|e, _| known.contains(e));
            self.nodes.retain(|name, _| names.contains(name));
            drop(unfinished);
        }
        result
    }

    fn create_all(
        &mut self,
        nodes: Vec<NodeSpec>,
        unfinished: &mut Option<Box<dyn Node>>,
    ) -> Result<Value, Error> {
        let mut created = Created { endpoints: BTreeMap::new(), time_ns: 0 };
        let mut relays: BTreeMap<u32, Vec<Arc<PublisherSlot>>> = BTreeMap::new();
        let relayed = relayed_with_waits(&nodes);
        for spec in nodes {
            if self.nodes.contains_key(&spec.name) {
                return Err(Error::invalid(
                    format!("node {}", spec.name),
                    "a node of this name exists already",
                ));
            }
            let session = self
                .session
                .as_mut()
                .ok_or_else(|| Error::invalid("cmd create", "open comes first"))?;
            let node = unfinished.insert(session.node(&spec.name)?);
            let mut endpoints = Vec::new();
            for endpoint in spec.endpoints {
                let number = endpoint.endpoint;
                if number == 0 {
                    return Err(Error::invalid(
                        "endpoint 0",
                        "0 stands for the schedule: expected 1 or more",
                    ));
                }
                // This holds after its destruction, too: its sequence numbers would begin again at
                // 0.
                if self.publishers.contains_key(&number)
                    || self.readers.contains_key(&number)
                    || self.gone.contains_key(&number)
                {
                    return Err(Error::invalid(
                        format!("endpoint {number}"),
                        "this number is taken",
                    ));
                }
                endpoints.push(endpoint.endpoint);
                let granted = match endpoint.kind {
                    EndpointKind::Publisher | EndpointKind::Client => {
                        self.create_sender(&mut **node, &endpoint, &relayed, &mut relays)
                    }
                    EndpointKind::Subscription => {
                        self.create_subscription(&mut **node, &endpoint, &relayed)
                    }
                    EndpointKind::Service => self.create_service(&mut **node, &endpoint),
                }?;
                let hold_ns =
                    if endpoint.kind == EndpointKind::Subscription { endpoint.hold_ns } else { 0 };
                created.endpoints.insert(endpoint.endpoint, CreatedEndpoint { granted, hold_ns });
            }
            let node = unfinished.take().expect("made above");
            self.nodes.insert(spec.name, CreatedNode { node, endpoints });
        }
        for (from, publishers) in relays {
            let relayed = self.readers.get(&from).filter(|_| !self.services.contains_key(&from)).ok_or_else(|| {
                Error::invalid(
                    format!("endpoint {}", publishers[0].endpoint),
                    format!("relays from {from}, which is neither a subscription nor a client of this process"),
                )
            })?;
            let object = format!("endpoint {}", publishers[0].endpoint);
            if !relayed.sink.relay_to(publishers) {
                return Err(Error::invalid(
                    object,
                    format!(
                        "{from} has its relays: all relays of a subscription come in one create"
                    ),
                ));
            }
        }
        created.time_ns = now_ns();
        Ok(serde_json::to_value(created).expect("granted always serialises"))
    }

    /// Creates a publisher or a client: both send by their arrival, and a client also reads.
    fn create_sender(
        &mut self,
        node: &mut dyn Node,
        spec: &EndpointSpec,
        relayed: &BTreeSet<u32>,
        relays: &mut BTreeMap<u32, Vec<Arc<PublisherSlot>>>,
    ) -> Result<Granted, Error> {
        let object = format!("endpoint {}", spec.endpoint);
        let arrival = spec.arrival.clone().ok_or_else(|| {
            Error::invalid(&object, format!("a {} needs an arrival", spec.kind.name()))
        })?;
        arrival.check().map_err(|why| Error::invalid(&object, format!("arrival: {why}")))?;
        let config = config(spec)?;
        let publisher = if spec.kind == EndpointKind::Client {
            let sink = Arc::new(
                self.sink(spec).of_client(spec.endpoint).relaying(relayed.contains(&spec.endpoint)),
            );
            let client = node.client(&config, sink.clone() as Arc<dyn Sink>)?;
            let reading =
                Reading { source: None, sink, matches: spec.matches, reported: BTreeSet::new() };
            self.readers.insert(spec.endpoint, reading);
            client
        } else {
            node.publisher(&config)?
        };
        let mut granted = publisher.granted();
        if spec.kind == EndpointKind::Publisher {
            granted.take = None;
        }
        let recorded = RecordedPublisher::new(publisher, self.recorder(spec, &spec.message_type));
        let slot = PublisherSlot::new(spec.endpoint, recorded.with_frames(self.frames_of(spec)?));
        if let Arrival::Relay { from } = arrival {
            relays.entry(from).or_default().push(slot.clone());
        }
        let publishing =
            Publishing { slot, arrival, matches: spec.matches, started: false, ends_ns: None };
        self.publishers.insert(spec.endpoint, publishing);
        Ok(granted)
    }

    /// Refuses `raw` here and not in each worker, so that no worker can accept it silently.
    fn refuse_raw(&self, spec: &EndpointSpec) -> Result<(), Error> {
        if spec.take == Take::Typed {
            return Ok(());
        }
        let answer = self.middleware.describe().capabilities.get("take_raw").cloned();
        match answer
            .as_deref()
            .unwrap_or("no: the worker describes no such take")
            .strip_prefix("no: ")
        {
            None => Ok(()),
            Some(reason) => Err(Error::unsupported(
                format!("endpoint {}", spec.endpoint),
                format!("take raw: {reason}"),
            )),
        }
    }

    fn create_subscription(
        &mut self,
        node: &mut dyn Node,
        spec: &EndpointSpec,
        relayed: &BTreeSet<u32>,
    ) -> Result<Granted, Error> {
        let hold = u64::try_from(spec.hold_ns).ok().filter(|ns| *ns <= MOST_HOLD_NS);
        let hold = hold.ok_or_else(|| {
            let found = spec.hold_ns;
            Error::invalid(
                format!("endpoint {}", spec.endpoint),
                format!("hold_ns: expected 0 to {MOST_HOLD_NS}, found {found}"),
            )
        })?;
        self.refuse_raw(spec)?;
        let sink = self
            .sink(spec)
            .holding(Duration::from_nanos(hold))
            .relaying(relayed.contains(&spec.endpoint));
        let sink = Arc::new(sink);
        let subscription = node.subscription(&config(spec)?, sink.clone() as Arc<dyn Sink>)?;
        let granted = subscription.granted();
        let reading = Reading {
            source: Some(subscription),
            sink,
            matches: spec.matches,
            reported: BTreeSet::new(),
        };
        self.readers.insert(spec.endpoint, reading);
        Ok(granted)
    }

    fn create_service(
        &mut self,
        node: &mut dyn Node,
        spec: &EndpointSpec,
    ) -> Result<Granted, Error> {
        if spec.loan {
            return Err(Error::unsupported(
                format!("endpoint {}", spec.endpoint),
                "loan: a service sends its replies by copy",
            ));
        }
        let config = config(spec)?;
        let reply_type = config.reply_type.as_ref().expect("checked for a service");
        let sink = Arc::new(self.sink(spec));
        let service = Arc::new(RecordedService::new(sink.clone(), self.recorder(spec, reply_type)));
        let source = node.service(&config, service.clone() as Arc<dyn Handler>)?;
        let granted = source.granted();
        let reading = Reading {
            source: Some(source),
            sink,
            matches: spec.matches,
            reported: BTreeSet::new(),
        };
        self.readers.insert(spec.endpoint, reading);
        self.services.insert(spec.endpoint, Serving { service, started: false, ends_ns: None });
        Ok(granted)
    }

    /// The ring of an endpoint that sends frames. Errors: the endpoint is no publisher with touch
    /// `all`, it has no ring, or the frames have another size than the payload.
    fn frames_of(&mut self, spec: &EndpointSpec) -> Result<Option<Frames>, Error> {
        if spec.frames.is_none() {
            return Ok(None);
        }
        let object = format!("endpoint {}", spec.endpoint);
        if spec.kind != EndpointKind::Publisher || spec.touch != Touch::All {
            return Err(Error::invalid(object, "frames: expected a publisher with touch `all`"));
        }
        let frames = self
            .frames
            .remove(&spec.endpoint)
            .ok_or_else(|| Error::invalid(&object, "frames: no ring was given for it"))?;
        let (expected, found) = (spec.message_type.payload_bytes as usize, frames.frame_bytes());
        if expected != found {
            return Err(Error::invalid(
                object,
                format!("frames: expected frames of {expected} bytes, found {found}"),
            ));
        }
        Ok(Some(frames))
    }

    fn sink(&self, spec: &EndpointSpec) -> RecordingSink {
        let section = self.records.section(Kind::Received, spec.endpoint);
        RecordingSink::new(section, self.records.nonce(), spec.touch, spec.matches)
    }

    fn recorder(&self, spec: &EndpointSpec, sent: &MessageType) -> Recorder {
        Recorder {
            section: self.records.section(Kind::Sent, spec.endpoint),
            endpoint: spec.endpoint,
            nonce: self.records.nonce(),
            payload_bytes: sent.payload_bytes,
            touched_bytes: touched_bytes(spec.touch, sent),
            loan: spec.loan,
        }
    }
}

/// The readers from which a publisher of these nodes relays with calls that may wait for
/// acknowledgements: a publisher of `keep_last` overwrites messages that are not acknowledged.
fn relayed_with_waits(nodes: &[NodeSpec]) -> BTreeSet<u32> {
    let endpoints = nodes.iter().flat_map(|node| &node.endpoints);
    let waits =
        |qos: &Qos| qos.reliability == Reliability::Reliable && qos.history == History::KeepAll;
    let waiting = endpoints.filter(|endpoint| waits(&endpoint.qos));
    waiting
        .filter_map(|endpoint| {
            if let Some(Arrival::Relay { from }) = endpoint.arrival {
                Some(from)
            } else {
                None
            }
        })
        .collect()
}

/// The configuration that the middleware gets. Errors: the payload of an endpoint that sends is too
/// small for its header; a reply type is missing, or is given where none belongs.
fn config(spec: &EndpointSpec) -> Result<EndpointConfig, Error> {
    let object = format!("endpoint {}", spec.endpoint);
    if spec.take == Take::Raw && spec.kind != EndpointKind::Subscription {
        return Err(Error::invalid(
            &object,
            format!("take raw: expected a subscription, found a {}", spec.kind.name()),
        ));
    }
    let has_replies = matches!(spec.kind, EndpointKind::Client | EndpointKind::Service);
    if has_replies != spec.reply_type.is_some() {
        let message = if has_replies { "needs a reply_type" } else { "has no reply_type" };
        return Err(Error::invalid(&object, format!("a {} {message}", spec.kind.name())));
    }
    let sent = [
        Some(&spec.message_type).filter(|_| spec.kind != EndpointKind::Subscription),
        spec.reply_type.as_ref(),
    ];
    if let Some(small) =
        sent.into_iter().flatten().find(|t| (t.payload_bytes as usize) < HEADER_BYTES)
    {
        let found = small.payload_bytes;
        return Err(Error::invalid(
            &object,
            format!(
                "expected a payload of at least {HEADER_BYTES} bytes, found {found} ({})",
                small.name
            ),
        ));
    }
    Ok(EndpointConfig {
        endpoint: spec.endpoint,
        topic: spec.topic.clone(),
        message_type: spec.message_type.clone(),
        reply_type: spec.reply_type.clone(),
        qos: spec.qos.clone(),
        loan: spec.loan,
        publish_mode: spec.publish_mode,
        wait: spec.wait,
        take: spec.take,
    })
}
