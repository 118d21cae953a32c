//! Two Cyclone domains of the test's process with one id on the network (`ExternalDomainId`), so
//! that messages really go over UDP, on loopback only; a tag per test excludes other processes on
//! the same machine.
#![allow(dead_code)] // each test binary uses its part

use std::sync::atomic::{AtomicU32, Ordering};

use rmwbench_conformance::pair;
use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::middleware::*;
use serde_json::{json, Value};

/// Two domain ids of this process and a profile with which they match each other and nobody else.
pub struct Network {
    pub domains: [u32; 2],
    pub text: String,
}

impl Network {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let k = NEXT.fetch_add(1, Ordering::Relaxed);
        let text = format!(
            r#"<CycloneDDS><Domain Id="any">
                 <General><Interfaces><NetworkInterface name="lo" multicast="true"/></Interfaces></General>
                 <Discovery><ExternalDomainId>{}</ExternalDomainId><Tag>test{}-{k}</Tag></Discovery>
               </Domain></CycloneDDS>"#,
            // Ports below 32768 (7400 + 250 × domain): the kernel may give higher ports to any
            // process.
            50 + k % 50,
            std::process::id(),
        );
        Network { domains: [2 * k, 2 * k + 1], text }
    }

    pub fn open(&self, side: usize) -> Box<dyn Session> {
        CycloneDds.open(&session(self.domains[side], &self.text)).unwrap()
    }

    pub fn open_with_topics(&self, side: usize, kind: &str) -> Box<dyn Session> {
        self.open_with(side, &[], &[("topic", json!(kind))]).unwrap()
    }

    pub fn open_with(
        &self,
        side: usize,
        modes: &[(&str, Value)],
        options: &[(&str, Value)],
    ) -> Result<Box<dyn Session>, Error> {
        let map = |list: &[(&str, Value)]| {
            list.iter().map(|(key, value)| (key.to_string(), value.clone())).collect()
        };
        let config = session(self.domains[side], &self.text);
        CycloneDds.open(&SessionConfig { modes: map(modes), options: map(options), ..config })
    }
}

pub fn session(domain_id: u32, text: &str) -> SessionConfig {
    pair::session(&pair::profile("xml", text), domain_id)
}

pub fn endpoint(topic: &str, bytes: u32) -> EndpointConfig {
    pair::endpoint(1, topic, bytes)
}

pub fn error_of<T>(result: Result<T, Error>) -> Error {
    result.err().expect("expected an error")
}
