//! The identity of a message in its first 64 bytes, and a pattern in the rest that a reader can
//! check (`records.md`).

use crate::message_type::MessageType;

pub const HEADER_BYTES: usize = 64;
/// The value of `cause_endpoint` if the body is a frame of an outside source; `cause_seq` is then
/// the frame's sum.
pub const FRAMES: u32 = u32::MAX;
const MAGIC: u32 = 0x4257_4D52;
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
const STEP: u64 = 0xBF58_476D_1CE4_E5B9;

/// Which part of a trial a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Messages of the second half of the match barrier; they are never recorded.
    Probe = 0,
    Warmup = 1,
    Steady = 2,
}

/// The bytes that the producer writes after the header and that the consumer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touch {
    None,
    Header,
    All,
}

/// Why a payload has no header of this trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHeader {
    /// It is too short, or its magic number differs: somebody else's message.
    Foreign,
    /// The magic number is right, but the check or the phase is wrong.
    Damaged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub writer: u32,
    pub nonce: u64,
    pub seq: u64,
    pub intended_ns: i64,
    pub cause_seq: u64,
    /// 0: the schedule is the cause; [`FRAMES`]: the body is a frame.
    pub cause_endpoint: u32,
    pub size: u32,
    pub phase: Phase,
    /// Bytes after the header that the reader checks.
    pub touched: u32,
}

impl Header {
    fn words(&self) -> [u64; 8] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let mut words = [
            pair(MAGIC, self.writer),
            self.nonce,
            self.seq,
            self.intended_ns as u64,
            self.cause_seq,
            pair(self.cause_endpoint, self.size),
            pair(self.phase as u32, self.touched),
            0,
        ];
        words[7] = check(&words);
        words
    }

    /// Writes the header into the first 64 bytes of `payload`. Panics when `payload` is shorter.
    #[inline]
    pub fn write(&self, payload: &mut [u8]) {
        for (bytes, word) in payload[..HEADER_BYTES].chunks_exact_mut(8).zip(self.words()) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads a header, or returns why there is none.
    #[inline]
    pub fn read(payload: &[u8]) -> Result<Header, NoHeader> {
        let bytes = payload.get(..HEADER_BYTES).ok_or(NoHeader::Foreign)?;
        let mut w = [0_u64; 8];
        for (word, bytes) in w.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().unwrap());
        }
        if w[7] != check(&w) {
            return Err(if w[0] as u32 == MAGIC { NoHeader::Damaged } else { NoHeader::Foreign });
        }
        if w[0] as u32 != MAGIC {
            return Err(NoHeader::Foreign);
        }
        Ok(Header {
            writer: (w[0] >> 32) as u32,
            nonce: w[1],
            seq: w[2],
            intended_ns: w[3] as i64,
            cause_seq: w[4],
            cause_endpoint: w[5] as u32,
            size: (w[5] >> 32) as u32,
            phase: match w[6] as u32 {
                0 => Phase::Probe,
                1 => Phase::Warmup,
                2 => Phase::Steady,
                _ => return Err(NoHeader::Damaged),
            },
            touched: (w[6] >> 32) as u32,
        })
    }
}

/// The sum of the first seven words, each multiplied by GOLDEN to the power of its place: a change
/// of any single word changes the sum.
#[inline]
fn check(words: &[u64; 8]) -> u64 {
    words[..7].iter().rev().fold(0_u64, |sum, word| sum.wrapping_add(*word).wrapping_mul(GOLDEN))
}

/// Writes the pattern of message (`writer`, `seq`) over `body`.
#[inline]
pub fn fill(body: &mut [u8], writer: u32, seq: u64) {
    if body.is_empty() {
        return; // a header alone: the lanes would cost as much as the record does
    }
    let mut lanes = lanes(writer, seq);
    let mut blocks = body.chunks_exact_mut(64);
    for block in &mut blocks {
        for (bytes, lane) in block.chunks_exact_mut(8).zip(&mut lanes) {
            bytes.copy_from_slice(&lane.to_le_bytes());
            *lane = lane.wrapping_add(STEP.wrapping_mul(8));
        }
    }
    for (bytes, lane) in blocks.into_remainder().chunks_mut(8).zip(&lanes) {
        bytes.copy_from_slice(&lane.to_le_bytes()[..bytes.len()]);
    }
}

/// Whether `body` is the pattern of message (`writer`, `seq`). Always reads every byte.
#[inline]
pub fn verify(body: &[u8], writer: u32, seq: u64) -> bool {
    let mut lanes = lanes(writer, seq);
    let mut wrong = [0_u64; 8];
    let mut blocks = body.chunks_exact(64);
    for block in &mut blocks {
        for ((bytes, lane), wrong) in block.chunks_exact(8).zip(&mut lanes).zip(&mut wrong) {
            *wrong |= u64::from_le_bytes(bytes.try_into().unwrap()) ^ *lane;
            *lane = lane.wrapping_add(STEP.wrapping_mul(8));
        }
    }
    let rest = blocks
        .remainder()
        .chunks(8)
        .zip(&lanes)
        .all(|(bytes, lane)| bytes == &lane.to_le_bytes()[..bytes.len()]);
    rest && wrong.iter().fold(0, |all, w| all | w) == 0
}

fn lanes(writer: u32, seq: u64) -> [u64; 8] {
    let start = seq.wrapping_add(1).wrapping_mul(GOLDEN).wrapping_add(u64::from(writer));
    std::array::from_fn(|i| start.wrapping_add(STEP.wrapping_mul(i as u64)))
}

/// The sum of a body that follows no pattern: a change of any single word changes it. It is
/// computed in blocks; each but the last is a multiple of 64 bytes long.
#[derive(Default)]
pub struct Sum([u64; 8]);

impl Sum {
    pub fn of(body: &[u8]) -> u64 {
        let mut sum = Sum::default();
        sum.add(body);
        sum.finish()
    }

    #[inline]
    pub fn add(&mut self, block: &[u8]) {
        let mut words = block.chunks_exact(64);
        for eight in &mut words {
            for (lane, bytes) in self.0.iter_mut().zip(eight.chunks_exact(8)) {
                *lane = lane
                    .wrapping_add(u64::from_le_bytes(bytes.try_into().unwrap()))
                    .wrapping_mul(GOLDEN);
            }
        }
        for (lane, bytes) in self.0.iter_mut().zip(words.remainder().chunks(8)) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            *lane = lane.wrapping_add(u64::from_le_bytes(word)).wrapping_mul(GOLDEN);
        }
    }

    pub fn finish(self) -> u64 {
        self.0.iter().fold(0, |sum: u64, lane| sum.wrapping_add(*lane).wrapping_mul(GOLDEN))
    }
}

/// Whether the body agrees with its header: a frame by its sum, any other body by its pattern.
/// Always reads every byte.
#[inline]
pub fn intact(header: &Header, body: &[u8]) -> bool {
    if header.cause_endpoint == FRAMES {
        Sum::of(body) == header.cause_seq
    } else {
        verify(body, header.writer, header.seq)
    }
}

/// The number of bytes after the header that `touch` writes and reads in a payload of this type.
pub fn touched_bytes(touch: Touch, message_type: &MessageType) -> u32 {
    match touch {
        Touch::All => message_type.payload_bytes.saturating_sub(HEADER_BYTES as u32),
        Touch::None | Touch::Header => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            writer: 7,
            nonce: 0xDEAD_BEEF,
            seq: 41,
            intended_ns: -5,
            cause_seq: 3,
            cause_endpoint: 2,
            size: 300,
            phase: Phase::Steady,
            touched: 236,
        }
    }

    #[test]
    fn header_round_trips() {
        let mut payload = [0; 64];
        header().write(&mut payload);
        assert_eq!(Header::read(&payload), Ok(header()));
    }

    #[test]
    fn every_single_changed_byte_is_noticed() {
        let mut payload = [0_u8; 300];
        let h = header();
        h.write(&mut payload);
        fill(&mut payload[64..], h.writer, h.seq);
        assert!(verify(&payload[64..], h.writer, h.seq));
        for i in 0..payload.len() {
            payload[i] ^= 0x10;
            let read = Header::read(&payload);
            assert!(read != Ok(h) || !verify(&payload[64..], h.writer, h.seq), "byte {i}");
            payload[i] ^= 0x10;
        }
    }

    #[test]
    fn a_frame_is_known_by_its_sum_and_every_changed_byte_or_swapped_block_is_noticed() {
        let mut body: Vec<u8> = (0..1003_u32).map(|i| (i * 7 / 3) as u8).collect();
        let h = Header { cause_endpoint: FRAMES, cause_seq: Sum::of(&body), ..header() };
        assert!(intact(&h, &body) && !intact(&header(), &body));
        let mut blocks = Sum::default();
        body.chunks(128).for_each(|block| blocks.add(block));
        assert_eq!(blocks.finish(), h.cause_seq);
        for i in 0..body.len() {
            body[i] ^= 1;
            assert!(!intact(&h, &body), "byte {i}");
            body[i] ^= 1;
        }
        body.rotate_left(64);
        assert!(!intact(&h, &body));
    }

    #[test]
    fn pattern_is_the_documented_one_at_every_length() {
        for length in (0..200).chain([4096, 6_220_736]) {
            let mut body = vec![0; length];
            fill(&mut body, 3, 9);
            let start = 10_u64.wrapping_mul(GOLDEN).wrapping_add(3);
            for (i, bytes) in body.chunks(8).enumerate() {
                let word = start.wrapping_add((i as u64).wrapping_mul(STEP)).to_le_bytes();
                assert_eq!(bytes, &word[..bytes.len()], "length {length} word {i}");
            }
            assert!(verify(&body, 3, 9));
            assert!(length == 0 || !verify(&body, 3, 10));
        }
    }
}
