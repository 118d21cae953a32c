//! What an endpoint puts on the wire: DDS topic, layout, and what stands in its USER_DATA.
//!
//! A topic is one such thing, a service is two. Requests and replies are the message with a header
//! before its body, as rmw_cyclonedds has it: the instance handle of the client's request writer
//! and the number of the request.

use rmwbench_harness::message_type::{
    dds_reply_topic_name, dds_request_topic_name, dds_topic_name, MessageType,
};
use rmwbench_harness::middleware::{EndpointConfig, Error};

/// Bytes of the encapsulation header, which stand before the body on the wire and not in a sample.
pub const ENCAPSULATION_BYTES: usize = 4;
pub const HEADER_BYTES: usize = 16;

/// One DDS topic as an endpoint uses it.
pub struct Wire {
    pub topic: String,
    /// The request header counts as part of its `cdr_prefix`.
    pub message_type: MessageType,
    /// Names the pair of writer and reader that belong together; read by rmw_cyclonedds.
    pub user_data: Option<String>,
}

impl Wire {
    pub fn topic(config: &EndpointConfig) -> Wire {
        Wire {
            topic: dds_topic_name(&config.topic),
            message_type: config.message_type.clone(),
            user_data: None,
        }
    }

    /// The wires of a service's requests and replies. Errors: no reply type.
    pub fn service(config: &EndpointConfig, user_data: String) -> Result<(Wire, Wire), Error> {
        let reply = config.reply_type.as_ref().ok_or_else(|| {
            Error::invalid(
                format!("endpoint {}", config.endpoint),
                "a client or service needs a reply_type",
            )
        })?;
        let wire = |topic: String, message_type: &MessageType| Wire {
            topic,
            message_type: with_header(message_type),
            user_data: Some(user_data.clone()),
        };
        Ok((
            wire(dds_request_topic_name(&config.topic), &config.message_type),
            wire(dds_reply_topic_name(&config.topic), reply),
        ))
    }
}

fn with_header(message_type: &MessageType) -> MessageType {
    let mut with = message_type.clone();
    let place = ENCAPSULATION_BYTES.min(with.cdr_prefix.len());
    with.cdr_prefix.splice(place..place, [0; HEADER_BYTES]);
    with
}

/// Who asked, and which of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// Instance handle of the client's writer.
    pub client: u64,
    pub seq: i64,
}

impl RequestHeader {
    pub fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.client.to_le_bytes());
        bytes[8..].copy_from_slice(&self.seq.to_le_bytes());
        bytes
    }

    /// Of a message less its encapsulation; None where that is too short.
    pub fn of(body: &[u8]) -> Option<RequestHeader> {
        let eight = |at: usize| body.get(at..at + 8)?.try_into().ok();
        Some(RequestHeader {
            client: u64::from_le_bytes(eight(0)?),
            seq: i64::from_le_bytes(eight(8)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_stands_between_encapsulation_and_body() {
        let with = with_header(&MessageType::service_bytes(3, 3).0);
        assert_eq!(with.cdr_prefix[..4], [0, 1, 0, 0]);
        assert_eq!(with.cdr_prefix[20..], [3, 0, 0, 0]);
        assert_eq!(with.cdr_bytes(), 4 + 16 + 4 + 3);
    }

    #[test]
    fn a_header_survives_the_wire() {
        let header = RequestHeader { client: 0x0102_0304_0506_0708, seq: -2 };
        assert_eq!(header.bytes()[..9], [8, 7, 6, 5, 4, 3, 2, 1, 0xFE]);
        assert_eq!(RequestHeader::of(&header.bytes()), Some(header));
        assert_eq!(RequestHeader::of(&[0; 15]), None);
    }
}
