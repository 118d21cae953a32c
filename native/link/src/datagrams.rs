//! Datagrams in IP fragments, of which only the first has ports and the beginning of an RTPS
//! message. The submessages in the other fragments (a writer may put every fragment of its sample
//! into one datagram) are found by reading the message again, as far as it has come.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::frame::{Class, Facts};
use crate::rtps::{self, Piece};

pub type Key = (IpAddr, IpAddr, u8, u32);

/// The number of datagrams under way that are remembered; senders send the pieces of one back to
/// back.
const MOST: usize = 256;
/// The size of UDP's header, which is in the first piece.
const UDP_BYTES: usize = 8;

#[derive(Default)]
pub struct Datagrams(VecDeque<Datagram>);

struct Datagram {
    key: Key,
    facts: Facts,
    to: (IpAddr, u16),
    /// An RTPS message as far as it has come; empty for other content.
    message: Vec<u8>,
    /// The number of the message's pieces that were accounted for.
    pieces: usize,
    payload_bytes: u32,
}

impl Datagrams {
    /// Takes a first piece; `content` is what follows UDP's header.
    pub fn begin(&mut self, key: Key, facts: Facts, to: (IpAddr, u16), content: &[u8]) {
        self.0.retain(|known| known.key != key);
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        let rtps_message = rtps::read(content);
        let message = if rtps_message.is_some() { content.to_vec() } else { Vec::new() };
        let (pieces, payload_bytes) = rtps_message
            .map_or((0, 0), |rtps_message| (rtps_message.pieces.len(), rtps_message.payload_bytes));
        self.0.push_back(Datagram { key, facts, to, message, pieces, payload_bytes });
    }

    /// Takes a later piece, `offset` bytes behind the beginning. Returns the facts of the first
    /// piece, with this piece's own payload; None if the first is not known. `sent` notes that a
    /// piece of a sample goes to this receiver and returns whether it did before.
    pub fn go_on(
        &mut self,
        key: Key,
        offset: usize,
        last: bool,
        content: &[u8],
        mut sent: impl FnMut(Piece, (IpAddr, u16)) -> bool,
    ) -> Option<Facts> {
        let place = self.0.iter().rposition(|known| known.key == key)?;
        let known = &mut self.0[place];
        let in_order = !known.message.is_empty() && offset == UDP_BYTES + known.message.len();
        let payload_bytes = if in_order {
            known.message.extend_from_slice(content);
            let rtps_message = rtps::read(&known.message)?;
            let begun = &rtps_message.pieces[known.pieces.min(rtps_message.pieces.len())..];
            if !begun.is_empty() {
                // Not `any`, because each piece has to be noted.
                #[allow(clippy::unnecessary_fold)]
                let retransmission =
                    begun.iter().fold(false, |before, piece| sent(*piece, known.to) || before);
                known.facts.retransmission = retransmission;
            }
            let new = rtps_message.payload_bytes.saturating_sub(known.payload_bytes);
            (known.pieces, known.payload_bytes) =
                (rtps_message.pieces.len(), rtps_message.payload_bytes);
            new
        } else {
            content.len() as u32
        };
        let payload_bytes = if known.facts.class == Class::Data { payload_bytes } else { 0 };
        let facts = Facts { payload_bytes, ..known.facts };
        if last {
            self.0.remove(place);
        }
        Some(facts)
    }
}
