//! A peer that is killed leaves nothing behind and blocks nobody: the other side notices it by the
//! end of the connection.
//!
//! The peer is this same test binary, started with `RMWBENCH_TEST_ROLE`.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmwbench_floor::Floor;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Delivery, EndpointConfig, Middleware, Profile, PublishMode, Session, SessionConfig, Sink, Take,
    Wait,
};
use rmwbench_harness::qos::Qos;

const TRANSPORTS: [&str; 3] = ["shm_ring", "tcp", "unix"];

#[derive(Default)]
struct Count {
    messages: AtomicU64,
    delay_ms: u64,
}

impl Sink for Count {
    fn deliver(&self, _: &Delivery<'_>) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(self.delay_ms));
    }
}

fn session(domain_id: u32, transport: &str) -> Box<dyn Session> {
    let profile = Profile {
        name: "untouched".into(),
        format: "none".into(),
        text: String::new(),
        summary: String::new(),
    };
    let options = BTreeMap::from([
        ("transport".to_string(), transport.into()),
        ("publish_timeout_ns".to_string(), 30_000_000_000_i64.into()),
    ]);
    Floor
        .open(&SessionConfig {
            profile,
            options,
            modes: Default::default(),
            domain_id,
            trial_nonce: 1,
        })
        .unwrap()
}

fn config() -> EndpointConfig {
    let message_type = MessageType::bytes(100_000);
    let (qos, publish_mode) = (Qos::default(), PublishMode::Default);
    EndpointConfig {
        endpoint: 1,
        topic: "killed".into(),
        message_type,
        reply_type: None,
        qos,
        loan: false,
        publish_mode,
        wait: Wait::Block,
        take: Take::Typed,
    }
}

fn peer(role: &str, domain_id: u32, transport: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_peer", "--nocapture"])
        .env("RMWBENCH_TEST_ROLE", format!("{role} {domain_id} {transport}"))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn the_peer() {
    let Ok(role) = std::env::var("RMWBENCH_TEST_ROLE") else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let mut session = session(words[1].parse().unwrap(), words[2]);
    let mut node = session.node("peer").unwrap();
    if words[0] == "reader" {
        let _subscription = node
            .subscription(&config(), Arc::new(Count { delay_ms: 3_600_000, ..Count::default() }))
            .unwrap();
        std::thread::sleep(Duration::from_secs(60));
    } else {
        let mut publisher = node.publisher(&config()).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            publisher.publish(&[7; 100_000]).unwrap();
        }
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "not reached: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn files(domain_id: u32) -> usize {
    std::fs::read_dir(format!("/tmp/rmwbench-floor.{domain_id}")).unwrap().count()
}

#[test]
fn a_killed_reader_unblocks_its_publisher() {
    for (i, transport) in TRANSPORTS.into_iter().enumerate() {
        let domain_id = std::process::id() * 64 + 40 + i as u32;
        let mut session = session(domain_id, transport);
        let mut publisher = session.node("talker").unwrap().publisher(&config()).unwrap();
        let mut reader = peer("reader", domain_id, transport);
        until("match", || publisher.matched() == 1);
        let (done, blocked) = std::sync::mpsc::channel();
        let sender = std::thread::spawn(move || {
            // The reader takes one message and sleeps: far fewer messages than these fit, so this
            // call blocks until the reader is killed.
            let results: Vec<_> = (0..200).map(|_| publisher.publish(&[1; 100_000])).collect();
            done.send(()).unwrap();
            (publisher, results)
        });
        assert!(
            blocked.recv_timeout(Duration::from_millis(500)).is_err(),
            "{transport}: the publisher never blocked"
        );
        reader.kill().unwrap();
        let killed = Instant::now();
        reader.wait().unwrap();
        let (publisher, results) = sender.join().unwrap();
        assert!(
            killed.elapsed() < Duration::from_secs(10),
            "{transport}: noticed after {:?}",
            killed.elapsed()
        );
        assert!(results.iter().all(Result::is_ok), "{transport}");
        until("unmatch", || publisher.matched() == 0);
        // The next publisher finds the dead socket file and removes it.
        let _next = session.node("next").unwrap().publisher(&config()).unwrap();
        assert_eq!(files(domain_id), 0, "{transport}");
        std::fs::remove_dir(format!("/tmp/rmwbench-floor.{domain_id}")).unwrap();
    }
}

#[test]
fn a_killed_writer_unmatches_and_its_successor_is_found() {
    for (i, transport) in TRANSPORTS.into_iter().enumerate() {
        let domain_id = std::process::id() * 64 + 50 + i as u32;
        let mut session = session(domain_id, transport);
        let count = Arc::new(Count::default());
        let subscription =
            session.node("listener").unwrap().subscription(&config(), count.clone()).unwrap();
        for _ in 0..2 {
            let before = count.messages.load(Ordering::Relaxed);
            let mut writer = peer("writer", domain_id, transport);
            until("messages", || count.messages.load(Ordering::Relaxed) > before + 5);
            until("match", || subscription.matched() == 1);
            writer.kill().unwrap();
            writer.wait().unwrap();
            until("unmatch", || subscription.matched() == 0);
        }
        drop(subscription);
        assert_eq!(files(domain_id), 0, "{transport}");
        std::fs::remove_dir(format!("/tmp/rmwbench-floor.{domain_id}")).unwrap();
    }
}
