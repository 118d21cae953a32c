//! Below the recorder: payloads too small for its header, which two sessions of this process
//! exchange directly over the traits.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{EndpointConfig, Error, ErrorKind, SessionConfig};
use rmwbench_harness::qos::{Qos, Reliability};

use crate::pair::{endpoint, Memory};
use crate::{Context, Outcome, Verdict};

/// Payloads of 0 to 63 bytes arrive byte for byte.
pub fn small_payloads(context: &Context<'_>) -> Outcome {
    let open = || {
        let config = SessionConfig {
            profile: context.profile.clone(),
            options: context.arm.options.clone(),
            modes: context.arm.modes.clone(),
            domain_id: 1,
            trial_nonce: 1,
        };
        context.middleware.open(&config)
    };
    let reliability = if context.lacks("reliable").is_some() {
        Reliability::BestEffort
    } else {
        Reliability::Reliable
    };
    let failed = |e: Error| format!("open: {e}");
    let mut writing = match open() {
        Err(error) if error.kind == ErrorKind::Unsupported => {
            return Ok(Verdict::Declared(error.to_string()))
        }
        opened => opened.map_err(failed)?,
    };
    let mut reading = open().map_err(failed)?;
    let (mut talker, mut listener) = (
        writing.node("talker").map_err(|e| e.to_string())?,
        reading.node("listener").map_err(|e| e.to_string())?,
    );
    for bytes in [0_u32, 1, 7, 8, 63] {
        let qos = Qos { reliability, ..Qos::default() };
        let config = EndpointConfig { qos, ..endpoint(bytes + 1, &format!("small{bytes}"), bytes) };
        let heard = Memory::new();
        let subscription = listener
            .subscription(
                &EndpointConfig { endpoint: bytes + 101, ..config.clone() },
                heard.clone(),
            )
            .map_err(|e| format!("{bytes} bytes: {e}"))?;
        let mut publisher = talker.publisher(&config).map_err(|e| format!("{bytes} bytes: {e}"))?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while publisher.matched() < 1 || subscription.matched() < 1 {
            if Instant::now() > deadline {
                return Err(format!("{bytes} bytes: not matched within 10 s"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let sent: Vec<Vec<u8>> =
            (0..5_u8).map(|k| (0..bytes as u8).map(|i| i.wrapping_mul(7) ^ k).collect()).collect();
        // The first message may be lost while only one side has matched: repeat until all five were
        // received.
        loop {
            for payload in &sent {
                publisher.publish(payload).map_err(|e| format!("{bytes} bytes: {e:?}"))?;
            }
            std::thread::sleep(Duration::from_millis(20));
            let heard: BTreeSet<Vec<u8>> = heard.wait_for(0).into_iter().collect();
            let expected: BTreeSet<Vec<u8>> = sent.iter().cloned().collect();
            if let Some(wrong) = heard.difference(&expected).next() {
                return Err(format!("{bytes} bytes: heard {wrong:?}, which was never sent"));
            }
            if heard == expected {
                break;
            }
            if Instant::now() > deadline {
                return Err(format!(
                    "{bytes} bytes: heard {} of {} payloads",
                    heard.len(),
                    expected.len()
                ));
            }
        }
        drop(subscription);
        drop(publisher);
    }
    drop((talker, listener));
    Ok(Verdict::Passed)
}
