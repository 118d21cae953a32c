//! A DDS topic with ROS 2's names, of one of two kinds that look the same on the wire.
//!
//! `blob`: the raw-CDR topic of cyclors, whose serialiser takes bytes of any length; Cyclone never
//! passes its samples to PSMX, because that serialiser cannot make one from a loan. `descriptor`: a
//! type as idlc would describe it, made here at run time: a structure of one octet array that is as
//! long as the message's CDR body. Fixed in size and free of pointers, so PSMX carries it and
//! writers loan it.

use cyclors::*;
use rmwbench_cyclone::entity::{c_string, Entity};
use rmwbench_cyclone::wire::{Wire, ENCAPSULATION_BYTES};
use rmwbench_harness::middleware::Error;
use serde::Deserialize;

const PLAIN_CDR_LITTLE_ENDIAN: [u8; ENCAPSULATION_BYTES] = [0, 1, 0, 0];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Blob,
    Descriptor,
}

/// Creates the topic of an endpoint, which errors name as `object`.
pub fn create(
    participant: dds_entity_t,
    kind: Kind,
    object: &str,
    wire: &Wire,
) -> Result<Entity, Error> {
    let topic = c_string(&wire.topic, "topic name")?;
    let type_name = c_string(&wire.message_type.dds_type_name(), "type name")?;
    let handle = match kind {
        // SAFETY: the strings outlive the call, which copies them although it asks for mutable
        // pointers.
        Kind::Blob => unsafe {
            cdds_create_blob_topic(
                participant,
                topic.as_ptr().cast_mut(),
                type_name.as_ptr().cast_mut(),
                true,
            )
        },
        Kind::Descriptor => {
            let body_bytes = body_bytes(wire).map_err(|message| Error::invalid(object, message))?;
            let ops = [
                dds_stream_opcode_DDS_OP_ADR
                    | dds_stream_typecode_primary_DDS_OP_TYPE_ARR
                    | dds_stream_typecode_subtype_DDS_OP_SUBTYPE_1BY,
                0, // its offset in the structure
                body_bytes,
                dds_stream_opcode_DDS_OP_RTS,
            ];
            let none = dds_type_meta_ser { data: std::ptr::null(), sz: 0 };
            let descriptor = dds_topic_descriptor {
                m_size: body_bytes,
                m_align: 1,
                // Its encoding is not restricted: a blob topic's is not either, so both kinds with
                // one name can be in one participant.
                m_flagset: DDS_TOPIC_FIXED_SIZE,
                m_nkeys: 0,
                m_typename: type_name.as_ptr(),
                m_keys: std::ptr::null(),
                m_nops: ops.len() as u32,
                m_ops: ops.as_ptr(),
                m_meta: c"".as_ptr(),
                type_information: none,
                type_mapping: none,
                restrict_data_representation: 0,
            };
            // SAFETY: everything to which the descriptor points outlives the call, which copies it.
            unsafe {
                dds_create_topic(
                    participant,
                    &descriptor,
                    topic.as_ptr(),
                    std::ptr::null(),
                    std::ptr::null(),
                )
            }
        }
    };
    Entity::owned(handle, || format!("{object}: topic {topic:?} of type {type_name:?}"))
}

/// The size of the message without its encapsulation header, which is that of a sample of the
/// described type.
fn body_bytes(wire: &Wire) -> Result<u32, String> {
    let message_type = &wire.message_type;
    if !message_type.cdr_prefix.starts_with(&PLAIN_CDR_LITTLE_ENDIAN) {
        return Err(format!(
            "type {}: a described type is sent as plain little-endian CDR, this one is not",
            message_type.name
        ));
    }
    match wire.body_bytes() {
        0 => Err(format!("type {} is empty: an array cannot be", message_type.name)),
        bytes => {
            u32::try_from(bytes).map_err(|_| format!("type {} is too large", message_type.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use rmwbench_harness::message_type::MessageType;

    use super::*;

    fn body_of(message_type: MessageType) -> Result<u32, String> {
        let (topic, user_data) = (String::new(), None);
        body_bytes(&Wire { topic, message_type, header_bytes: 0, user_data })
    }

    #[test]
    fn the_body_is_the_cdr_without_its_header() {
        // layout: two lengths of four bytes; then the length of the data
        assert_eq!(body_of(MessageType::bytes(100)), Ok(12 + 100));
        let mut suffixed = MessageType::bytes(1);
        suffixed.cdr_suffix = vec![0; 16];
        assert_eq!(body_of(suffixed), Ok(12 + 1 + 16));
    }

    #[test]
    fn what_a_descriptor_cannot_describe_is_told() {
        let mut other = MessageType::bytes(8);
        other.cdr_prefix[1] = 0;
        assert!(body_of(other).unwrap_err().contains("little-endian"));
        let empty =
            MessageType { cdr_prefix: PLAIN_CDR_LITTLE_ENDIAN.to_vec(), ..MessageType::bytes(0) };
        assert!(body_of(empty).unwrap_err().contains("empty"));
    }
}
