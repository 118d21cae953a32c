//! The bytes of a message from any sender: they have a header of ours, or are recognised as having
//! none, and no read leaves them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rmwbench_harness::payload::{intact, Header, Phase, HEADER_BYTES};

fuzz_target!(|bytes: &[u8]| {
    look(bytes);
    // A header with a valid check word, which chance alone does not find, before any body.
    let Some((words, body)) = bytes.split_at_checked(HEADER_BYTES) else { return };
    let word = |at: usize| u64::from_le_bytes(words[at * 8..][..8].try_into().expect("eight bytes"));
    let header = Header {
        writer: word(0) as u32,
        nonce: word(1),
        seq: word(2),
        intended_ns: word(3) as i64,
        cause_seq: word(4),
        cause_endpoint: word(5) as u32,
        size: (word(5) >> 32) as u32,
        phase: [Phase::Probe, Phase::Warmup, Phase::Steady][word(6) as usize % 3],
        touched: (word(6) >> 32) as u32,
    };
    let mut message = vec![0; HEADER_BYTES];
    header.write(&mut message);
    message.extend(body);
    assert_eq!(Header::read(&message), Ok(header), "a header is read as it was written");
    look(&message);
});

fn look(message: &[u8]) {
    if let Ok(header) = Header::read(message) {
        let _ = intact(&header, &message[HEADER_BYTES..]);
    }
}
