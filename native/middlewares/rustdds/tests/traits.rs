//! What is particular to RustDDS, on the traits; what every middleware must do is the conformance suite's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmwbench_conformance::isolated;
use rmwbench_conformance::pair::*;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{History, Reliability};
use rmwbench_rustdds::RustDds;
use serde_json::{json, Value};

fn with(options: &[(&str, Value)], modes: &[(&str, Value)]) -> SessionConfig {
    let own = |pairs: &[(&str, Value)]| pairs.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    SessionConfig { options: own(options), modes: own(modes), ..session(&RustDds.describe().profiles[0], 0) }
}

fn open() -> Box<dyn Session> {
    RustDds.open(&with(&[], &[])).unwrap()
}

fn matched(writer: &dyn Endpoint, reader: &dyn Endpoint) {
    wait_until("a match", || writer.matched() == 1 && reader.matched() == 1);
}

fn rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn probe_sizes() {
    isolated("probe_sizes", || {
        let (mut there, mut here) = (open(), open());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        for (i, mib) in [1_usize, 4, 8, 15, 16, 17, 24, 32].into_iter().enumerate() {
            let bytes = mib << 20;
            let topic = format!("size_{bytes}");
            let memory = Memory::new();
            let reader = far.subscription(&endpoint(2 * i as u32 + 1, &topic, bytes as u32), memory.clone()).unwrap();
            let mut writer = near.publisher(&endpoint(2 * i as u32 + 2, &topic, bytes as u32)).unwrap();
            matched(&*writer, &*reader);
            let began = Instant::now();
            for n in 0..3 {
                println!("{:?}", writer.publish(&vec![n; bytes]));
            }
            let end = Instant::now() + Duration::from_secs(12);
            while memory.len() < 3 && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            println!(
                "{mib} MiB: {} of 3 after {:?}, rss {} MB {:?}",
                memory.len(),
                began.elapsed(),
                rss_bytes() / 1000000,
                reader.account()
            );
        }
    });
}
