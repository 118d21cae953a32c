//! A service: a queryable that replies within the delivery of the request, as in rmw_zenoh.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, EndpointConfig, Error, Granted, Handler, PublishError, Reply,
};
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{Query, Queryable};
use zenoh::Wait as _;

use crate::graph::Side;
use crate::outgoing::{sending, Outgoing};
use crate::queue::{Arrival, Deliver, What};
use crate::reading::{granted, Intake, Payloads};
use crate::shared::Shared;

pub struct ZenohService {
    token: Option<LivelinessToken>,
    queryable: Option<Queryable<()>>,
    intake: Intake,
    topic: String,
    granted: Granted,
    payloads: Arc<Payloads>,
    shared: Arc<Shared>,
}

/// One request's answer.
struct Answer<'a> {
    query: &'a Query,
    outgoing: Outgoing,
}

impl Reply for Answer<'_> {
    fn message(&mut self, bytes: usize) -> Option<NonNull<[u8]>> {
        self.outgoing.message(bytes)
    }

    fn send(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        // The reply has the request's congestion control, whatever the service requests.
        let reply = self.query.reply(self.query.key_expr(), self.outgoing.payload(payload));
        sending(|| reply.wait()).map_err(|_| PublishError::Failed)
    }
}

impl ZenohService {
    pub fn create(
        node: &str,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
        shared: &Arc<Shared>,
    ) -> Result<Self, Error> {
        shared.refuse_reliable_over_udp(config)?;
        let key = shared.key(&config.topic)?;
        let payloads = Arc::new(Payloads::new(config.take, config.message_type.payload_bytes));
        let taken = payloads.clone();
        let outgoing: Mutex<Vec<Outgoing>> = Mutex::default();
        let deliver: Deliver = Box::new(move |arrival, notified_ns| {
            let What::Request(query) = arrival.what else { return };
            let empty = ZBytes::new();
            let payload = query.payload().unwrap_or(&empty);
            let pool = || outgoing.lock().expect("nothing panics with it");
            // Requests are answered concurrently, each from its own buffers.
            let own = pool().pop().unwrap_or_default();
            let mut answer = Answer { query: &query, outgoing: own };
            taken.hand_over(payload, arrival.in_session, notified_ns, |request| {
                handler.handle(request, &mut answer)
            });
            pool().push(answer.outgoing);
        });
        let (intake, receive) = Intake::open(config, shared, deliver)?;
        // It is complete: a client queries those that answer for the whole key.
        let queryable = shared
            .session
            .declare_queryable(key)
            .complete(true)
            .callback(move |query| receive(Arrival::now(What::Request(query))))
            .wait();
        let queryable =
            queryable.map_err(|e| Error::failed(format!("endpoint {}", config.endpoint), e))?;
        let token = shared.graph.announce(Side::Service, node, config.endpoint, &config.topic)?;
        Ok(ZenohService {
            token: Some(token),
            queryable: Some(queryable),
            intake,
            topic: config.topic.clone(),
            granted: granted(config, shared.keep_all_depth, false),
            payloads,
            shared: shared.clone(),
        })
    }
}

impl Drop for ZenohService {
    fn drop(&mut self) {
        self.token.take();
        self.intake.close();
        if let Some(queryable) = self.queryable.take() {
            let _ = queryable.undeclare().wait_callbacks().wait();
        }
    }
}

impl trait_::Endpoint for ZenohService {
    fn matched(&self) -> u32 {
        self.shared.graph.count(Side::Client, &self.topic).total()
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let senders = self.shared.graph.ever(Side::Client, &self.topic);
        self.payloads.account(&self.intake, senders, false, &self.shared.session)
    }
}
