//! Messages as bytes: the layer between RustDDS's serialisers and the harness.
//!
//! RustDDS takes a message as a value that it serialises, and returns it as a value that it
//! deserialises from its receive buffer. A message to write is built here, once, and passed on by
//! reference count. A message that was read is copied once out of that buffer, into one that is
//! used again, as a deserialiser does with a sequence of octets.

use std::cell::RefCell;
use std::convert::Infallible;

use bytes::Bytes;
use rmwbench_harness::message_type::MessageType;
use rustdds::no_key::{Decode, DeserializerAdapter, SerializerAdapter};
use rustdds::RepresentationIdentifier;

/// The encapsulation header, which RustDDS writes and reads itself.
const ENCAPSULATION_BYTES: usize = 4;

pub struct Raw;

impl SerializerAdapter<Bytes> for Raw {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(value: &Bytes) -> Result<Bytes, Infallible> {
        Ok(value.clone())
    }
}

impl DeserializerAdapter<()> for Raw {
    type Error = Infallible;
    type Decoded = ();

    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        &[RepresentationIdentifier::CDR_LE]
    }

    fn transform_decoded((): ()) {}
}

/// Copies a message's body into memory that can be read.
#[derive(Clone, Copy)]
pub struct CopyTo<'a>(pub &'a RefCell<Vec<u8>>);

impl Decode<'_, ()> for CopyTo<'_> {
    type Error = Infallible;

    fn decode_bytes(self, input: &[u8], _: RepresentationIdentifier) -> Result<(), Infallible> {
        let mut buffer = self.0.borrow_mut();
        buffer.clear();
        buffer.extend_from_slice(input);
        Ok(())
    }
}

/// Where a payload is in a message's body.
#[derive(Clone, Debug)]
pub struct Layout {
    prefix: Vec<u8>,
    payload_bytes: usize,
    suffix: Vec<u8>,
}

impl Layout {
    /// `header_bytes`: the size of our own header before the body.
    pub fn new(message_type: &MessageType, header_bytes: usize) -> Layout {
        let prefix = message_type.cdr_prefix.get(ENCAPSULATION_BYTES..).unwrap_or_default();
        Layout {
            prefix: [&vec![0; header_bytes], prefix].concat(),
            payload_bytes: message_type.payload_bytes as usize,
            suffix: message_type.cdr_suffix.clone(),
        }
    }

    pub fn message(&self, header: &[u8], payload: &[u8]) -> Bytes {
        let mut message = Vec::with_capacity(self.prefix.len() + payload.len() + self.suffix.len());
        message.extend_from_slice(header);
        message.extend_from_slice(&self.prefix[header.len()..]);
        message.extend_from_slice(payload);
        message.extend_from_slice(&self.suffix);
        message.into()
    }

    /// The payload; None if the body is too short for this type. Bytes after it, such as padding,
    /// are ignored.
    pub fn payload<'a>(&self, body: &'a [u8]) -> Option<&'a [u8]> {
        body.get(self.prefix.len()..self.prefix.len() + self.payload_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_survives_with_and_without_a_header_and_with_padding() {
        let message_type = MessageType::bytes(5);
        for header in [&[][..], &[7; 16]] {
            let layout = Layout::new(&message_type, header.len());
            let message = layout.message(header, b"hello");
            assert_eq!(&message[..header.len()], header);
            assert_eq!(
                message.len(),
                header.len() + message_type.cdr_bytes() - ENCAPSULATION_BYTES
            );
            let padded = [&message[..], &[0; 3]].concat();
            assert_eq!(layout.payload(&padded), Some(&b"hello"[..]));
            assert_eq!(layout.payload(&message[..message.len() - 1]), None);
        }
    }
}
