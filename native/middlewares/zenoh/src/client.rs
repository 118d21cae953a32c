//! A service's client: a querier. Each request is a query of its own, so that any number may be on
//! their way, and a reply goes only to the client that sent the request.
//!
//! As in rmw_zenoh, every matching service gets the query, and replies are not consolidated.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{Account, EndpointConfig, Error, Granted, PublishError, Sink};
use rmwbench_harness::qos::Reliability;
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::CongestionControl;
use zenoh::query::{ConsolidationMode, Querier, QueryTarget, Reply};
use zenoh::Wait as _;

use crate::graph::Side;
use crate::outgoing::{sending, Outgoing};
use crate::queue::{Arrival, Deliver, What};
use crate::reading::{granted, Intake, Payloads, Receive};
use crate::shared::Shared;

pub struct ZenohClient {
    token: Option<LivelinessToken>,
    querier: Option<Querier<'static>>,
    replies: Arc<Replies>,
    intake: Intake,
    topic: String,
    granted: Granted,
    payloads: Arc<Payloads>,
    outgoing: Outgoing,
    shared: Arc<Shared>,
}

struct Replies {
    receive: Receive,
    /// The number of requests that nobody answered in time.
    timeouts: AtomicU64,
    /// The number of requests that ended without an answer: there was no service, or it ended or
    /// dropped the request.
    unanswered: AtomicU64,
    /// The number of answers that were errors.
    errors: AtomicU64,
    /// The number of answers to a request after the first one.
    further: AtomicU64,
}

/// One request on its way; Zenoh drops it when no more answers can come.
struct Request {
    replies: Arc<Replies>,
    answers: AtomicU64,
}

impl Request {
    fn answered(&self, reply: Reply) {
        let replies = &self.replies;
        if self.answers.fetch_add(1, Ordering::Relaxed) > 0 {
            replies.further.fetch_add(1, Ordering::Relaxed);
        }
        match reply.into_result() {
            Ok(sample) => (replies.receive)(Arrival::now(What::Sample(sample))),
            // Zenoh's own message, in place of an answer.
            Err(error) if *error.payload().to_bytes() == *b"Timeout" => {
                replies.timeouts.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {
                replies.errors.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.answers.load(Ordering::Relaxed) == 0 {
            self.replies.unanswered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl ZenohClient {
    pub fn create(
        node: &str,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        shared: &Arc<Shared>,
    ) -> Result<Self, Error> {
        if config.loan {
            return Err(Error::unsupported(
                format!("endpoint {}", config.endpoint),
                "loan: requests are published by copy",
            ));
        }
        shared.refuse_reliable_over_udp(config)?;
        let key = shared.key(&config.topic)?;
        let reply_bytes = config.reply_type.as_ref().map_or(0, |reply| reply.payload_bytes);
        let payloads = Arc::new(Payloads::new(config.take, reply_bytes));
        let taken = payloads.clone();
        let deliver: Deliver = Box::new(move |arrival, notified_ns| {
            if let What::Sample(sample) = arrival.what {
                taken.hand_over(sample.payload(), arrival.in_session, notified_ns, |delivery| {
                    sink.deliver(delivery)
                });
            }
        });
        let (intake, receive) = Intake::open(config, shared, deliver)?;
        let reliable = config.qos.reliability == Reliability::Reliable;
        // The same as for publishers. Zenoh's own default blocks.
        let default = if reliable { CongestionControl::Block } else { CongestionControl::Drop };
        let querier = shared
            .session
            .declare_querier(key)
            .congestion_control(shared.modes.congestion.unwrap_or(default))
            .target(QueryTarget::AllComplete)
            .consolidation(ConsolidationMode::None)
            .timeout(Duration::from_millis(shared.request_timeout_ms));
        let querier = querier
            .wait()
            .map_err(|e| Error::failed(format!("endpoint {}", config.endpoint), e))?;
        let mut granted = granted(config, shared.keep_all_depth, false);
        granted.notes.push(format!(
            "a request waits {} ms for its reply (queries_default_timeout)",
            shared.request_timeout_ms
        ));
        granted.notes.push(match querier.congestion_control() {
            CongestionControl::Drop => {
                "congestion control drop: a congested link loses requests".into()
            }
            _ => "congestion control block: a request waits for the link".to_string(),
        });
        let [timeouts, unanswered, errors, further] = [0; 4].map(AtomicU64::new);
        let token = shared.graph.announce(Side::Client, node, config.endpoint, &config.topic)?;
        Ok(ZenohClient {
            token: Some(token),
            querier: Some(querier),
            replies: Arc::new(Replies { receive, timeouts, unanswered, errors, further }),
            intake,
            topic: config.topic.clone(),
            granted,
            payloads,
            outgoing: Outgoing::default(),
            shared: shared.clone(),
        })
    }
}

impl trait_::Publisher for ZenohClient {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let querier = self.querier.as_ref().ok_or(PublishError::Failed)?;
        let request = Request { replies: self.replies.clone(), answers: AtomicU64::new(0) };
        let get = querier
            .get()
            .payload(self.outgoing.payload(payload))
            .callback(move |reply| request.answered(reply));
        sending(|| get.wait()).map_err(|_| PublishError::Failed)
    }

    fn message(&mut self, bytes: usize) -> Option<NonNull<[u8]>> {
        self.outgoing.message(bytes)
    }
}

impl Drop for ZenohClient {
    fn drop(&mut self) {
        self.token.take();
        self.intake.close();
        if let Some(querier) = self.querier.take() {
            let _ = querier.undeclare().wait_callbacks().wait();
        }
    }
}

impl trait_::Endpoint for ZenohClient {
    fn matched(&self) -> u32 {
        self.shared.graph.count(Side::Service, &self.topic).total()
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let senders = self.shared.graph.ever(Side::Service, &self.topic);
        let mut account = self.payloads.account(&self.intake, senders, false, &self.shared.session);
        let replies = &self.replies;
        for (name, count) in [
            ("timeouts", &replies.timeouts),
            ("unanswered", &replies.unanswered),
            ("error_replies", &replies.errors),
            ("further_replies", &replies.further),
        ] {
            account.counters.insert(name.into(), count.load(Ordering::Relaxed) as i64);
        }
        // A reply goes to its client alone.
        account.counters.extend([
            ("other_clients_replies".to_string(), 0),
            ("other_clients_reply_bytes".to_string(), 0),
        ]);
        account
    }
}
