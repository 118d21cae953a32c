//! A service: a queryable that replies from within the delivery of the request, as rmw_zenoh's
//! does.

use std::sync::Arc;

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, EndpointConfig, Error, Granted, Handler, PublishError,
};
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{Query, Queryable};
use zenoh::Wait as _;

use crate::graph::Side;
use crate::queue::{Arrival, Deliver};
use crate::reading::{granted, Counts, Intake};
use crate::shared::Shared;

pub struct ZenohService {
    token: Option<LivelinessToken>,
    queryable: Option<Queryable<()>>,
    intake: Intake,
    topic: String,
    granted: Granted,
    counts: Arc<Counts>,
    shared: Arc<Shared>,
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
        let counts = Arc::new(Counts::default());
        let counted = counts.clone();
        // Replies take the request's congestion control, whatever the service asks for.
        let reply = |query: &Query, bytes: &[u8]| {
            query.reply(query.key_expr(), bytes).wait().map_err(|_| PublishError::Failed)
        };
        let deliver: Deliver = Box::new(move |arrival, notified_ns| {
            let Arrival::Request(query) = arrival else { return };
            let empty = ZBytes::new();
            let payload = query.payload().unwrap_or(&empty);
            counted.hand_over(payload, notified_ns, |request| {
                handler.handle(request, &mut |bytes: &[u8]| reply(&query, bytes))
            });
        });
        let (intake, receive) = Intake::open(config, shared, deliver)?;
        // Complete: a client asks those that answer for the whole key.
        let queryable = shared
            .session
            .declare_queryable(key)
            .complete(true)
            .callback(move |query| receive(Arrival::Request(query)))
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
            counts,
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
        self.counts.account(
            &self.intake,
            self.shared.graph.ever(Side::Client, &self.topic),
            &self.shared.session,
        )
    }
}
