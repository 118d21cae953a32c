//! What an endpoint sends: the DDS topic, the layout, and the content of its USER_DATA.
//!
//! A topic has one wire, a service has two. Requests and replies are the message with a header
//! before its body, as in rmw_cyclonedds: a number that identifies the client, and the number of
//! the request.

use rmwbench_harness::message_type::{
    dds_reply_topic_name, dds_request_topic_name, dds_topic_name, MessageType,
};
use rmwbench_harness::middleware::{EndpointConfig, Error};

/// The size of the encapsulation header, which comes before the body on the wire and is not in a
/// sample.
pub const ENCAPSULATION_BYTES: usize = 4;
pub const HEADER_BYTES: usize = 16;

/// One DDS topic as an endpoint uses it.
pub struct Wire {
    pub topic: String,
    pub message_type: MessageType,
    /// The size of a service's header, between encapsulation and body.
    pub header_bytes: usize,
    /// Identifies the writer and the reader that belong together; rmw_cyclonedds reads it.
    pub user_data: Option<String>,
}

impl Wire {
    pub fn topic(config: &EndpointConfig) -> Wire {
        Wire {
            topic: dds_topic_name(&config.topic),
            message_type: config.message_type.clone(),
            header_bytes: 0,
            user_data: None,
        }
    }

    /// The wires of a service's requests and replies. Errors: no reply type.
    pub fn service(
        config: &EndpointConfig,
        user_data: Option<String>,
    ) -> Result<(Wire, Wire), Error> {
        let reply = config.reply_type.as_ref().ok_or_else(|| {
            Error::invalid(
                format!("endpoint {}", config.endpoint),
                "a client or service needs a reply_type",
            )
        })?;
        let wire = |topic: String, message_type: &MessageType| Wire {
            topic,
            message_type: message_type.clone(),
            header_bytes: HEADER_BYTES,
            user_data: user_data.clone(),
        };
        Ok((
            wire(dds_request_topic_name(&config.topic), &config.message_type),
            wire(dds_reply_topic_name(&config.topic), reply),
        ))
    }

    /// The size of a message with everything around its payload.
    pub fn cdr_bytes(&self) -> usize {
        self.message_type.cdr_bytes() + self.header_bytes
    }

    /// The size of a message without its encapsulation, which is that of a sample.
    pub fn body_bytes(&self) -> usize {
        self.cdr_bytes() - ENCAPSULATION_BYTES
    }

    /// The size of a body's part before its payload.
    pub fn payload_at(&self) -> usize {
        self.message_type.cdr_prefix.len().saturating_sub(ENCAPSULATION_BYTES) + self.header_bytes
    }
}

/// The client that sent a request, and the request's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    pub client: u64,
    pub seq: i64,
}

impl RequestHeader {
    #[inline]
    pub fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.client.to_le_bytes());
        bytes[8..].copy_from_slice(&self.seq.to_le_bytes());
        bytes
    }

    /// Reads the header of a message without its encapsulation; None if that is too short.
    #[inline]
    pub fn of(body: &[u8]) -> Option<RequestHeader> {
        let eight = |at: usize| body.get(at..at + 8)?.try_into().ok();
        Some(RequestHeader {
            client: u64::from_le_bytes(eight(0)?),
            seq: i64::from_le_bytes(eight(8)?),
        })
    }
}
