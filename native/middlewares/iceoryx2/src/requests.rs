//! The meaning of a service's QoS in iceoryx2, and the creation of its request-response service.
//!
//! iceoryx2 connects a reply to its request by a connection that both sides hold open. A client has
//! a fixed number of connections, and at most that many requests without an answer. That number is
//! the depth; DDS would queue one more request, iceoryx2 refuses it. Each of a client's connections
//! has a channel for each such request and a mark for each chunk of the service in each channel:
//! memory and set-up time grow with the square of the depth (seconds at a depth of 1000 with room
//! for 64 clients), so an option bounds it.

use iceoryx2::prelude::*;
use iceoryx2::service::builder::request_response::{
    RequestResponseCreateError, RequestResponseOpenError, RequestResponseOpenOrCreateError,
};
use iceoryx2::service::port_factory::request_response;
use iceoryx2::service::Service;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{EndpointConfig, Error};
use rmwbench_harness::qos::{Durability, History, Qos};

use crate::service::{retrying, Refusal, ReliableKeepLast, Settings};

/// The option that limits a client's requests without an answer.
pub const MOST_ACTIVE: &str = "max_active_requests";

pub type RequestResponse<S> = request_response::PortFactory<S, [u8], (), [u8], ()>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSettings {
    /// Whether a full queue drops its oldest request.
    pub safe_overflow: bool,
    /// How many requests without an answer a client may have.
    pub active: usize,
    pub backpressure: BackpressureStrategy,
}

impl RequestSettings {
    pub fn of(
        config: &EndpointConfig,
        keep_all_depth: usize,
        most_active: usize,
    ) -> Result<RequestSettings, Error> {
        if config.qos.durability == Durability::TransientLocal {
            let why = "durability transient_local: iceoryx2 keeps no requests for services that come later";
            return Err(Error::unsupported(format!("endpoint {}", config.endpoint), why));
        }
        // A reliable request is not dropped: ROS 2's clients wait for their answer.
        let Settings { safe_overflow, depth, backpressure, .. } =
            Settings::of(config, keep_all_depth, ReliableKeepLast::Block)?;
        Ok(RequestSettings { safe_overflow, active: depth.min(most_active), backpressure })
    }

    pub fn notes(&self, requested: &Qos) -> Vec<String> {
        let full = match self.safe_overflow {
            true => "a full queue drops its oldest request",
            false => "a service's queue has room for all requests that its clients may have without an answer",
        };
        let mut notes = vec![
            full.into(),
            format!(
                "a client has at most {} requests without an answer; one more fails",
                self.active
            ),
        ];
        if requested.history == History::KeepLast && requested.depth as usize > self.active {
            notes.push(format!(
                "asked for a depth of {}, the option {MOST_ACTIVE} grants {}",
                requested.depth, self.active
            ));
        }
        notes
    }

    pub fn granted(&self, requested: &Qos) -> Qos {
        Qos { depth: self.active as u32, ..requested.clone() }
    }
}

/// The type of a client's or service's replies. Errors: there is none.
pub fn reply_type(config: &EndpointConfig) -> Result<&MessageType, Error> {
    let missing = || {
        Error::invalid(
            format!("endpoint {}", config.endpoint),
            "a client or service needs a reply_type",
        )
    };
    config.reply_type.as_ref().ok_or_else(missing)
}

pub fn request_response<S: Service>(
    node: &Node<S>,
    name: &ServiceName,
    settings: RequestSettings,
    object: &str,
) -> Result<RequestResponse<S>, Error> {
    use {
        RequestResponseCreateError as C, RequestResponseOpenError as O,
        RequestResponseOpenOrCreateError as E,
    };
    retrying(object, || {
        node.service_builder(name)
            .request_response::<[u8], [u8]>()
            .enable_safe_overflow_for_requests(settings.safe_overflow)
            .enable_safe_overflow_for_responses(settings.safe_overflow)
            .enable_fire_and_forget_requests(false)
            .max_active_requests_per_client(settings.active)
            // There is one answer for each request and server, and it is taken before the next is
            // awaited.
            .max_response_buffer_size(1)
            .max_borrowed_responses_per_pending_response(1)
            .open_or_create()
            .map_err(|e| match e {
                E::SystemInFlux
                | E::RequestResponseOpenError(O::DoesNotExist | O::HangsInCreation | O::IsMarkedForDestruction)
                | E::RequestResponseCreateError(C::AlreadyExists | C::IsBeingCreatedByAnotherInstance | C::HangsInCreation) => {
                    Refusal::InFlux(e.to_string())
                }
                E::RequestResponseOpenError(
                    O::IncompatibleOverflowBehaviorForRequests | O::DoesNotSupportRequestedAmountOfActiveRequestsPerClient,
                ) => Refusal::Mismatch(format!("another endpoint of this service has another reliability, history or depth ({e})")),
                e => Refusal::Final(e.to_string()),
            })
    })
}
