//! Frames on an emulated network, one after another: each is classified, whatever its headers claim
//! (Ethernet, IP, UDP, TCP, RTPS, IGMP). The input consists of frames, each after its length in two
//! bytes.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use rmwbench_link::classify::Classifier;
use rmwbench_link::{headers, multicast};

thread_local! {
    /// There is one for all inputs: its memory is allocated once and bounded, which is a part of
    /// the test.
    static CLASSIFIER: RefCell<Classifier> = RefCell::new(Classifier::new(Vec::new()));
}

fuzz_target!(|input: &[u8]| {
    let mut rest = input;
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let (frame, next) = behind.split_at(usize::from(u16::from_be_bytes(*length)).min(behind.len()));
        let found = headers::parse(frame);
        let facts = CLASSIFIER.with_borrow_mut(|classifier| classifier.look(frame, &found));
        assert!(facts.payload_bytes as usize <= frame.len(), "{} bytes of payload in a frame of {}", facts.payload_bytes, frame.len());
        let _ = multicast::snooped(&found);
        rest = next;
    }
});
