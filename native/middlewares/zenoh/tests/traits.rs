//! Properties of Zenoh alone, on the traits; the conformance suite tests what every middleware must
//! do.
//!
//! All profiles here are without multicast: a test must not be visible on a network.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rmwbench_conformance::pair::*;
use rmwbench_conformance::{isolated, skipped};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History, Reliability};
use rmwbench_zenoh::Zenoh;
use serde_json::{json, Value};
use zenoh::shm::ShmProviderBuilder;
use zenoh::Wait as _;

/// Shared memory that Zenoh uses by itself, without multicast.
const IMPLICIT: &str = r#"{
    listen: { endpoints: ["{unix}"] },
    connect: { endpoints: ["{peers}"], retry: { period_init_ms: 10, period_max_ms: 100 } },
    scouting: { multicast: { enabled: false }, gossip: { enabled: false } },
    transport: { shared_memory: {
        enabled: true,
        mode: "init",
        transport_optimization: { enabled: true, pool_size: 25165824, message_size_threshold: 3072 },
    } },
}"#;

fn session_config(profile: &str, domain_id: u32) -> SessionConfig {
    let embedded = Zenoh.describe().profiles.into_iter().find(|p| p.name == profile);
    let profile = match profile {
        "implicit" => rmwbench_conformance::pair::profile("json5", IMPLICIT),
        _ => embedded.unwrap(),
    };
    SessionConfig { trial_nonce: u64::from(std::process::id()), ..session(&profile, domain_id) }
}

fn with_modes(profile: &str, domain_id: u32, modes: &[(&str, Value)]) -> SessionConfig {
    let modes = modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
    SessionConfig { modes, ..session_config(profile, domain_id) }
}

/// One test counts the pools in /dev/shm: the others that make pools wait for it.
fn alone_with_pools() -> MutexGuard<'static, ()> {
    static POOLS: Mutex<()> = Mutex::new(());
    POOLS.lock().unwrap_or_else(|e| e.into_inner())
}

/// Whether Zenoh can have this much shared memory here; if not, `test` is skipped. Zenoh locks its
/// pools, and a user who is not root, or is root only in a container, may often lock 8 MiB in all.
fn can_have_pools(test: &str, bytes: usize) -> bool {
    let pool = ShmProviderBuilder::default_backend(bytes).wait();
    if let Err(error) = &pool {
        let reason = "(ulimit -l, df /dev/shm): Zenoh cannot have it";
        skipped(test, &format!("it needs {bytes} bytes of shared memory {reason}: {error}"));
    }
    pool.is_ok()
}

fn open(profile: &str, domain_id: u32) -> Box<dyn Session> {
    Zenoh.open(&session_config(profile, domain_id)).unwrap()
}

fn matched(writer: &dyn Publisher, reader: &dyn Subscription) {
    wait_until("a match", || writer.matched() == 1 && reader.matched() == 1);
}

#[test]
fn every_size_arrives_whole_over_every_profile_and_the_path_is_told() {
    let _alone = alone_with_pools();
    let mut profiles = vec![(1, "tcp", "tcp", "tcp"), (2, "unixsock", "unix", "unix")];
    if can_have_pools("every_size_arrives_whole with shared memory", 2 * (24 << 20)) {
        profiles.push((3, "implicit", "unix", "shm"));
    }
    for (domain_id, profile, small, large) in profiles {
        let (mut there, mut here) = (open(profile, domain_id), open(profile, domain_id));
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        for (i, bytes) in [0_usize, 1, 63, 64, 1000, 1 << 20, 32 << 20].into_iter().enumerate() {
            let topic = format!("size_{bytes}");
            let memory = Memory::new();
            let reader = far
                .subscription(&endpoint(2 * i as u32 + 1, &topic, bytes as u32), memory.clone())
                .unwrap();
            let mut writer =
                near.publisher(&endpoint(2 * i as u32 + 2, &topic, bytes as u32)).unwrap();
            matched(&*writer, &*reader);
            let message: Vec<u8> = (0..bytes).map(|k| (k * 31 + i) as u8).collect();
            // From Zenoh's threshold up to the profile's pool of 24 MiB.
            let expected = if (3072..24 << 20).contains(&bytes) { large } else { small };
            // Zenoh makes its pool in the background, and sends earlier messages over the link.
            let mut sent = 0;
            wait_until("a message on the expected path", || {
                sent += 1;
                writer.publish(&message).unwrap();
                let got = memory.wait_for(sent);
                assert!(
                    got.len() == sent && got.iter().all(|m| *m == message),
                    "{profile} {bytes} bytes: {} messages",
                    got.len()
                );
                let evidence = reader.account().evidence;
                assert_eq!(evidence.iter().map(|e| e.messages).sum::<u64>(), sent as u64);
                evidence.iter().any(|e| e.path == expected)
            });
            assert!(
                sent == 1 || expected == "shm",
                "{profile} {bytes} bytes: {:?}",
                reader.account().evidence
            );
        }
    }
}

#[test]
fn a_loan_is_read_in_place_and_needs_shared_memory() {
    let _alone = alone_with_pools();
    // Two pools of Zenoh's own, and one of 18 messages.
    if !can_have_pools("a_loan_is_read_in_place", 2 * (24 << 20) + 18 * (8 << 20)) {
        return;
    }
    let (mut there, mut here) = (open("implicit", 4), open("implicit", 4));
    let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
    for (i, bytes) in [0_usize, 1, 64, 100_000, 8 << 20].into_iter().enumerate() {
        let topic = format!("size_{bytes}");
        let memory = Memory::new();
        let reader = far
            .subscription(&endpoint(2 * i as u32 + 1, &topic, bytes as u32), memory.clone())
            .unwrap();
        let mut loan = endpoint(2 * i as u32 + 2, &topic, bytes as u32);
        loan.loan = true;
        let mut writer = near.publisher(&loan).unwrap();
        matched(&*writer, &*reader);
        // There are more messages than the pool has slots: buffers are returned.
        for n in 0..40 {
            writer.publish_loaned(bytes, &mut |payload| payload.fill(n)).unwrap();
            assert!(
                memory.wait_for(n as usize + 1).pop().unwrap() == vec![n; bytes],
                "{bytes} bytes, message {n}"
            );
        }
        let evidence = &reader.account().evidence[0];
        assert_eq!(
            (evidence.path.as_str(), evidence.messages),
            (if bytes > 0 { "shm" } else { "unix" }, 40),
            "{bytes} bytes"
        );
    }
    let mut without = open("tcp", 5);
    let mut loan = endpoint(1, "t", 8);
    loan.loan = true;
    let error = without.node("n").unwrap().publisher(&loan).map(drop).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
}

#[test]
fn keep_last_drops_the_oldest_and_counts_it() {
    for (domain_id, reliability) in [(6, Reliability::Reliable), (7, Reliability::BestEffort)] {
        let (mut there, mut here) = (open("unixsock", domain_id), open("unixsock", domain_id));
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let qos = |c| with_qos(c, reliability, History::KeepLast, 3);
        let memory = Memory::new();
        let reader = far.subscription(&qos(endpoint(1, "t", 8)), memory.clone()).unwrap();
        let mut writer = near.publisher(&qos(endpoint(2, "t", 8))).unwrap();
        matched(&*writer, &*reader);
        overrun(&mut *writer, &memory, 10);
        wait_until("the queue to overflow", || reader.account().reader_drops == Some(7));
        memory.open_gate();
        assert_eq!(memory.wait_for(4), [byte(0), byte(8), byte(9), byte(10)]);
        assert_eq!(reader.granted().qos.depth, 3);
    }
}

#[test]
fn reliable_keep_all_loses_nothing_behind_a_slow_reader() {
    let mut config = session_config("unixsock", 8);
    config.options.insert("keep_all_depth".into(), 4.into());
    let (mut there, mut here) = (Zenoh.open(&config).unwrap(), Zenoh.open(&config).unwrap());
    let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
    let qos = |c| with_qos(c, Reliability::Reliable, History::KeepAll, 0);
    let memory = Memory::new();
    memory.close_gate();
    let reader = far.subscription(&qos(endpoint(1, "t", 10_000)), memory.clone()).unwrap();
    let mut writer = near.publisher(&qos(endpoint(2, "t", 10_000))).unwrap();
    matched(&*writer, &*reader);
    let messages: Vec<Vec<u8>> = (0..300).map(|n| vec![n as u8; 10_000]).collect();
    let sent = messages.clone();
    let publishing =
        std::thread::spawn(move || sent.iter().for_each(|m| writer.publish(m).unwrap()));
    memory.wait_until_held();
    std::thread::sleep(Duration::from_millis(300));
    assert!(!publishing.is_finished(), "3 MB went somewhere though the reader takes nothing");
    memory.open_gate();
    publishing.join().unwrap();
    assert!(memory.wait_for(300) == messages);
    assert_eq!(reader.account().reader_drops, Some(0));
}

#[test]
fn best_effort_keep_all_drops_the_newest_and_counts_it() {
    let mut config = session_config("unixsock", 9);
    config.options.insert("keep_all_depth".into(), 4.into());
    let mut session = Zenoh.open(&config).unwrap();
    let mut node = session.node("own").unwrap();
    let qos = |c| with_qos(c, Reliability::BestEffort, History::KeepAll, 0);
    let memory = Memory::new();
    let reader = node.subscription(&qos(endpoint(1, "t", 8)), memory.clone()).unwrap();
    let mut writer = node.publisher(&qos(endpoint(2, "t", 8))).unwrap();
    matched(&*writer, &*reader);
    overrun(&mut *writer, &memory, 10);
    memory.open_gate();
    assert_eq!(memory.wait_for(5), [byte(0), byte(1), byte(2), byte(3), byte(4)]);
    assert_eq!(reader.account().reader_drops, Some(6));
    assert_eq!(reader.account().evidence[0].path, "intra_process");
}

#[test]
fn every_way_to_wait_delivers_in_order_and_nothing_after_the_reader_left() {
    for (domain_id, wait) in [(10, Wait::Block), (11, Wait::Poll), (12, Wait::Callback)] {
        let (mut there, mut here) = (open("tcp", domain_id), open("tcp", domain_id));
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let memory = Memory::new();
        let mut config =
            with_qos(endpoint(1, "t", 8), Reliability::Reliable, History::KeepLast, 200);
        config.wait = wait;
        let reader = far.subscription(&config, memory.clone()).unwrap();
        let mut writer = near.publisher(&endpoint(2, "t", 8)).unwrap();
        matched(&*writer, &*reader);
        let messages: Vec<_> = (0..100).map(byte).collect();
        messages.iter().for_each(|m| writer.publish(m).unwrap());
        assert_eq!(memory.wait_for(100), messages, "{wait:?}");
        assert_eq!(reader.granted().wait, wait);
        let publishing = std::thread::spawn(move || {
            (0..2000).for_each(|n| writer.publish(&byte(n)).unwrap());
            writer
        });
        drop(reader);
        let seen = memory.len();
        let writer = publishing.join().unwrap();
        wait_until("the reader to be forgotten", || writer.matched() == 0);
        assert_eq!(memory.len(), seen, "{wait:?}");
    }
}

#[test]
fn a_mesh_of_five_counts_everyone_and_late_joiners_and_leavers() {
    let mut sessions: Vec<_> = (0..5).map(|_| open("unixsock", 13)).collect();
    let mut ends = Vec::new();
    for (i, session) in sessions.iter_mut().enumerate() {
        let mut node = session.node(&format!("node {i}")).unwrap();
        let memory = Memory::new();
        let reader =
            node.subscription(&endpoint(100 + i as u32, "a/b", 8), memory.clone()).unwrap();
        ends.push((
            node.publisher(&endpoint(i as u32 + 1, "a/b", 8)).unwrap(),
            reader,
            memory,
            node,
        ));
    }
    for (writer, reader, ..) in &ends {
        wait_until("all five to see five", || writer.matched() == 5 && reader.matched() == 5);
    }
    for (i, (writer, ..)) in ends.iter_mut().enumerate() {
        writer.publish(&byte(i)).unwrap();
    }
    for (_, _, memory, _) in &ends {
        let mut got = memory.wait_for(5);
        got.sort();
        assert_eq!(got, (0..5).map(byte).collect::<Vec<_>>());
    }
    // The first session leaves; a later one still finds the others.
    drop(ends.remove(0));
    drop(sessions.remove(0));
    let mut late = open("unixsock", 13);
    let mut node = late.node("late").unwrap();
    let memory = Memory::new();
    let reader = node.subscription(&endpoint(200, "a/b", 8), memory.clone()).unwrap();
    wait_until("the late joiner to see four publishers", || reader.matched() == 4);
    wait_until("the others to see it", || ends.iter().all(|(writer, ..)| writer.matched() == 5));
    ends[3].0.publish(&byte(9)).unwrap();
    assert_eq!(memory.wait_for(1), [byte(9)]);
}

#[test]
fn a_relay_into_its_own_full_queue_does_not_wait_for_itself() {
    struct Relay(std::sync::Mutex<Box<dyn Publisher>>);
    impl Sink for Relay {
        fn deliver(&self, delivery: &Delivery<'_>) {
            (0..10).for_each(|_| self.0.lock().unwrap().publish(delivery.payload).unwrap());
        }
    }
    let mut config = session_config("unixsock", 14);
    config.options.insert("keep_all_depth".into(), 2.into());
    let mut session = Zenoh.open(&config).unwrap();
    let mut node = session.node("relay").unwrap();
    let qos = |c| with_qos(c, Reliability::Reliable, History::KeepAll, 0);
    let memory = Memory::new();
    let _end = node.subscription(&qos(endpoint(1, "out", 8)), memory.clone()).unwrap();
    let relay = Relay(node.publisher(&qos(endpoint(2, "out", 8))).unwrap().into());
    let _middle =
        node.subscription(&qos(endpoint(3, "in", 8)), std::sync::Arc::new(relay)).unwrap();
    let mut writer = node.publisher(&qos(endpoint(4, "in", 8))).unwrap();
    writer.publish(&byte(1)).unwrap();
    assert_eq!(memory.wait_for(10).len(), 10);
}

#[test]
fn what_cannot_be_granted_is_refused_in_words() {
    let mut session = open("tcp", 15);
    let mut node = session.node("refused").unwrap();
    let kind = |result: Result<(), Error>| result.unwrap_err().kind;
    let mut filtered = endpoint(1, "t", 8);
    filtered.qos.content_filter = Some("data = 1".into());
    assert_eq!(kind(node.subscription(&filtered, Memory::new()).map(drop)), ErrorKind::Unsupported);
    let mut sync = endpoint(1, "t", 8);
    sync.publish_mode = PublishMode::Sync;
    assert_eq!(kind(node.publisher(&sync).map(drop)), ErrorKind::Unsupported);
    let none = with_qos(endpoint(1, "t", 8), Reliability::Reliable, History::KeepLast, 0);
    assert_eq!(kind(node.subscription(&none, Memory::new()).map(drop)), ErrorKind::Invalid);
    assert_eq!(kind(node.publisher(&endpoint(1, "a/*/b", 8)).map(drop)), ErrorKind::Invalid);

    let own = |text: &str| {
        let mut config = session_config("tcp", 16);
        config.profile.text = text.into();
        config
    };
    let error = Zenoh.open(&own("{mode: 'pear'}")).map(drop).unwrap_err();
    assert!(error.kind == ErrorKind::Invalid && error.message.contains("pear"), "{error}");
    let mut unknown = own("{}");
    unknown.options.insert("dept".into(), 3.into());
    assert!(Zenoh.open(&unknown).map(drop).unwrap_err().message.contains("keep_all_depth"));

    let quiet = "scouting: {multicast: {enabled: false}}";
    let mut udp = Zenoh
        .open(&own(&format!("{{listen: {{endpoints: ['udp/127.0.0.1:0']}}, {quiet}}}")))
        .unwrap();
    assert_eq!(
        kind(udp.node("n").unwrap().publisher(&endpoint(1, "t", 8)).map(drop)),
        ErrorKind::Unsupported
    );
    let drops =
        "qos: {publication: [{key_exprs: ['rmwbench/**'], config: {congestion_control: 'drop'}}]}";
    let mut lossy = Zenoh
        .open(&own(&format!("{{listen: {{endpoints: ['{{tcp}}']}}, {quiet}, {drops}}}")))
        .unwrap();
    assert_eq!(
        kind(lossy.node("n").unwrap().publisher(&endpoint(1, "t", 8)).map(drop)),
        ErrorKind::Unsupported
    );
}

/// Not a test: the other process of the next test.
#[test]
#[ignore]
fn child_ends() {
    let mut config = session_config("implicit", 17);
    config.trial_nonce = std::env::var("RMWBENCH_TEST_NONCE").unwrap().parse().unwrap();
    let mut session = Zenoh.open(&config).unwrap();
    let mut node = session.node("child").unwrap();
    let _reader = node.subscription(&endpoint(1, "to_child", 8), Memory::new()).unwrap();
    let mut loan = endpoint(2, "from_child", 100_000);
    loan.loan = true;
    let mut writer = node.publisher(&loan).unwrap();
    for n in 0.. {
        let _ = writer.publish_loaned(100_000, &mut |payload| payload.fill(n as u8));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process that publishes loans of 100 kB all the time.
fn child_that_lends() -> std::process::Child {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_ends", "--ignored"])
        .env("RMWBENCH_TEST_NONCE", std::process::id().to_string())
        .stdout(Stdio::null())
        .spawn();
    child.unwrap()
}

#[test]
fn a_killed_process_is_forgotten_and_its_memory_goes() {
    let _alone = alone_with_pools();
    let pools = || -> BTreeSet<_> {
        std::fs::read_dir("/dev/shm").unwrap().map(|f| f.unwrap().file_name()).collect()
    };
    let before = pools();
    let mut session = open("unixsock", 17);
    let mut node = session.node("survivor").unwrap();
    let memory = Memory::new();
    let reader = node.subscription(&endpoint(3, "from_child", 100_000), memory.clone()).unwrap();
    let mut writer = node.publisher(&endpoint(4, "to_child", 8)).unwrap();
    let meet = || {
        let heard = memory.len();
        let child = child_that_lends();
        matched(&*writer, &*reader);
        memory.wait_for(heard + 5);
        child
    };
    let mut child = meet();
    child.kill().unwrap();
    child.wait().unwrap();
    let left: BTreeSet<_> = pools().difference(&before).cloned().collect();
    assert!(left.iter().any(|name| name.to_string_lossy().ends_with(".zenoh")), "{left:?}");
    wait_until("the dead to be forgotten", || reader.matched() == 0);
    // The next process cleans up.
    let mut next = meet();
    assert!(left.is_disjoint(&pools()), "{left:?} of {:?}", pools());
    next.kill().unwrap();
    next.wait().unwrap();
    wait_until("the dead to be forgotten", || writer.matched() == 0);
    writer.publish(&byte(1)).unwrap();
    left_by_the_dead_is_removed(&before);
}

/// Checks that the remains of the last child of a test are removed; no process comes after it.
fn left_by_the_dead_is_removed(before: &BTreeSet<std::ffi::OsString>) {
    let mut last = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_opens", "--ignored"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    last.wait().unwrap();
    let now: BTreeSet<_> =
        std::fs::read_dir("/dev/shm").unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(now.is_subset(before), "{:?}", now.difference(before).collect::<Vec<_>>());
}

/// Not a test: a process that starts and ends.
#[test]
#[ignore]
fn child_opens() {
    drop(open("implicit", 19));
}

/// One message from one session to another, or within one; returns the reader's evidence.
fn carried(
    config: &SessionConfig,
    bytes: usize,
    reliability: Reliability,
    together: bool,
) -> Vec<String> {
    let mut here = Zenoh.open(config).unwrap();
    let mut there = if together { None } else { Some(Zenoh.open(config).unwrap()) };
    let mut near = here.node("near").unwrap();
    let mut far = there.as_mut().unwrap_or(&mut here).node("far").unwrap();
    let qos = |c| with_qos(c, reliability, History::KeepLast, 10);
    let memory = Memory::new();
    let reader =
        far.subscription(&qos(endpoint(1, "carried", bytes as u32)), memory.clone()).unwrap();
    let mut writer = near.publisher(&qos(endpoint(2, "carried", bytes as u32))).unwrap();
    matched(&*writer, &*reader);
    let mut sent = 0;
    // UDP may lose messages, and Zenoh makes its pool of shared memory in the background.
    let what = format!("ten messages with {:?}", config.modes);
    wait_until(&what, || {
        writer.publish(&vec![7; bytes]).unwrap();
        sent += 1;
        std::thread::sleep(Duration::from_millis(2));
        memory.len() >= 10
    });
    assert!(memory.wait_for(10).iter().all(|m| *m == vec![7; bytes]), "after {sent} messages");
    reader.account().evidence.iter().map(|e| e.path.clone()).collect()
}

#[test]
fn every_transport_is_the_one_asked_for() {
    isolated("every_transport_is_the_one_asked_for", || {
        for (domain_id, profile) in ["untouched", "shm", "tcp"].into_iter().enumerate() {
            for (transport, path, reliability) in [
                ("tcp", "tcp", Reliability::Reliable),
                ("unix", "unix", Reliability::Reliable),
                ("udp", "udp", Reliability::BestEffort),
                ("shm", "shm", Reliability::Reliable),
                ("intra_process", "intra_process", Reliability::Reliable),
            ] {
                let mut config = with_modes(
                    profile,
                    20 + domain_id as u32,
                    &[("transport", json!(transport)), ("discovery", json!("peers"))],
                );
                if transport == "shm" {
                    // An unprivileged process may lock four of these: two pools, mapped at both
                    // ends.
                    config.modes.insert("shm_pool_bytes".into(), json!(512 << 10));
                }
                let together = transport == "intra_process";
                let config = if together {
                    with_modes(profile, 30, &[("transport", json!(transport))])
                } else {
                    config
                };
                let paths = carried(&config, 100, reliability, together);
                assert!(paths.iter().any(|p| p == path), "{profile}, {transport}: {paths:?}");
                assert!(
                    paths.len() == 1 || transport == "shm",
                    "{profile}, {transport}: {paths:?}"
                );
            }
        }
    });
}

#[test]
fn every_discovery_finds_its_peers() {
    isolated("every_discovery_finds_its_peers", || {
        std::process::Command::new("ip")
            .args(["route", "add", "224.0.0.0/4", "dev", "lo"])
            .status()
            .unwrap();
        for profile in ["untouched", "shm", "router"] {
            let peers = with_modes(profile, 40, &[("discovery", json!("peers"))]);
            carried(&peers, 100, Reliability::Reliable, false);
            let server = with_modes(profile, 41, &[("discovery", json!("server"))]);
            assert_eq!(Zenoh.open(&server).map(drop).unwrap_err().object, "mode discovery");
            let router = Zenoh.daemon("router", &server).unwrap();
            carried(&server, 100, Reliability::Reliable, false);
            drop(router);
        }
    });
}

#[test]
fn tls_links_need_the_certificates_of_the_trial() {
    isolated("tls_links_need_the_certificates_of_the_trial", || {
        let secure = with_modes("tcp", 42, &[("security", json!(true))]);
        assert_eq!(carried(&secure, 100_000, Reliability::Reliable, false), ["tcp"]);
        let mut session = Zenoh.open(&secure).unwrap();
        let text = session.configuration().unwrap().text;
        assert!(text.contains("tls/127.") && text.contains("\"enable_mtls\": true"), "{text}");
        // Another trial has another authority: its sessions cannot connect, whatever address they
        // try.
        let endpoint_of =
            |text: &str| text.split('"').find(|t| t.starts_with("tls/127.")).unwrap().to_string();
        let mut stranger = secure.clone();
        stranger.trial_nonce += 1;
        stranger.profile.text = format!(
            "{{mode: 'peer', connect: {{endpoints: ['{}'], timeout_ms: 1000, exit_on_failure: true}}, scouting: {{multicast: {{enabled: false}}}}}}",
            endpoint_of(&text)
        );
        assert_eq!(Zenoh.open(&stranger).map(drop).unwrap_err().kind, ErrorKind::Failed);
        for (transport, mode) in [("udp", "security"), ("shm", "security"), ("unix", "security")] {
            let both = with_modes(
                "tcp",
                43,
                &[("security", json!(true)), ("transport", json!(transport))],
            );
            let error = Zenoh.open(&both).map(drop).unwrap_err();
            assert_eq!(
                (error.kind, error.object),
                (ErrorKind::Unsupported, format!("mode {mode}"))
            );
        }
        drop(session.node("n").unwrap());
        drop(session);
        let left = std::fs::read_dir("/tmp")
            .unwrap()
            .filter(|f| f.as_ref().unwrap().file_name().to_string_lossy().contains("zenoh"));
        assert_eq!(left.count(), 0, "sockets are removed");
    });
}

#[test]
fn modes_stand_in_the_configuration_that_is_told() {
    let _alone = alone_with_pools();
    let configuration_with = |profile: &str, modes: &[(&str, Value)]| -> Value {
        let config = with_modes(profile, 44, modes);
        let text = Zenoh.open(&config).unwrap().configuration().unwrap().text;
        serde_json::from_str(&text).unwrap()
    };
    let implicit = configuration_with(
        "implicit",
        &[("batching", json!(true)), ("shm_pool_bytes", json!(1 << 20))],
    );
    assert_eq!(implicit["qos"]["publication"][0]["config"]["express"], false);
    assert_eq!(
        implicit["transport"]["shared_memory"]["transport_optimization"]["pool_size"],
        1 << 20
    );
    let tcp =
        configuration_with("tcp", &[("batching", json!(false)), ("compression", json!(true))]);
    assert_eq!(tcp["transport"]["unicast"]["compression"]["enabled"], true);
    assert_eq!(tcp["transport"]["link"]["tx"]["queue"]["batching"]["enabled"], false);
    assert_eq!(tcp["qos"]["publication"][0]["config"]["express"], true);
    for (profile, modes, object) in [
        ("tcp", vec![("shm_pool_bytes", json!(1 << 20))], "mode shm_pool_bytes"),
        (
            "implicit",
            vec![("shm_pool_bytes", json!(1 << 20)), ("transport", json!("tcp"))],
            "mode shm_pool_bytes",
        ),
        (
            "tcp",
            vec![("transport", json!("intra_process")), ("discovery", json!("peers"))],
            "mode discovery",
        ),
    ] {
        let error = Zenoh.open(&with_modes(profile, 44, &modes)).map(drop).unwrap_err();
        assert_eq!(
            (error.kind, error.object.as_str()),
            (ErrorKind::Unsupported, object),
            "{}",
            error.message
        );
    }
}

#[test]
fn a_pool_that_may_not_be_locked_is_told_of() {
    isolated("a_pool_that_may_not_be_locked_is_told_of", || {
        // Within a user namespace the limit applies to root, too.
        let limit = std::fs::read_to_string("/proc/self/limits").unwrap();
        let limit = limit
            .lines()
            .find(|l| l.starts_with("Max locked memory"))
            .unwrap()
            .split_whitespace()
            .nth(3)
            .unwrap()
            .parse::<u64>();
        let Ok(limit) = limit else { return }; // unlimited
        for (pool, refused) in [(limit * 2, true), (limit / 2, false)] {
            let config = with_modes("implicit", 57, &[("shm_pool_bytes", json!(pool))]);
            let mut session = Zenoh.open(&config).unwrap();
            let writer = session.node("n").unwrap().publisher(&endpoint(1, "t", 100_000)).unwrap();
            let has_note = writer
                .granted()
                .notes
                .iter()
                .any(|note| note.starts_with("path: ") && note.contains("may lock"));
            assert_eq!(has_note, refused, "{pool} of {limit}: {:?}", writer.granted().notes);
            let mut node = session.node("r").unwrap();
            let reader = node.subscription(&endpoint(3, "t", 100_000), Memory::new()).unwrap();
            let expected = if refused { TakenAs::Typed } else { TakenAs::Lent };
            assert_eq!(reader.granted().take, Some(expected), "{pool} of {limit}");
            // A loan needs the pool: without it there is no writer, and the reason says what to do.
            let lender = EndpointConfig { loan: true, ..endpoint(2, "t", 100_000) };
            let refusal = session.node("m").unwrap().publisher(&lender).map(drop).err();
            assert_eq!(refusal.is_some(), refused, "{pool} of {limit}: {refusal:?}");
            assert!(refusal.is_none_or(|e| {
                e.kind == ErrorKind::Unsupported && e.message.contains("ulimit -l unlimited")
            }));
        }
    });
}

#[test]
fn threads_are_as_many_as_asked_for() {
    isolated("threads_are_as_many_as_asked_for", || {
        let threads = || {
            let names = std::fs::read_dir("/proc/self/task")
                .unwrap()
                .map(|t| std::fs::read_to_string(t.unwrap().path().join("comm")).unwrap());
            names.filter(|name| name.starts_with("rx-")).count()
        };
        let config = with_modes("unixsock", 45, &[("threads", json!(5))]);
        let session = Zenoh.open(&config).unwrap();
        let _other = Zenoh.open(&config).unwrap(); // threads start with the first link
        wait_until("the receiving threads", || threads() == 5);
        assert!(session
            .configuration()
            .unwrap()
            .text
            .starts_with("// environment: ZENOH_RUNTIME="));
        let other = with_modes("unixsock", 45, &[("threads", json!(1))]);
        assert_eq!(Zenoh.open(&other).map(drop).unwrap_err().object, "mode threads");
    });
}

#[test]
fn congestion_control_is_as_the_profile_and_the_mode_have_it() {
    isolated("congestion_control_is_as_the_profile_and_the_mode_have_it", || {
        let note = |config: &SessionConfig, history| {
            let mut session = Zenoh.open(config).unwrap();
            let mut node = session.node("n").unwrap();
            let writer = node
                .publisher(&with_qos(endpoint(1, "t", 8), Reliability::Reliable, history, 5))
                .unwrap();
            assert_eq!(writer.granted().qos.reliability, Reliability::Reliable);
            writer.granted().notes[0].clone()
        };
        let (last, all) = (History::KeepLast, History::KeepAll);
        assert!(note(&session_config("unixsock", 46), last).contains("control block"));
        assert!(note(&with_modes("unixsock", 46, &[("congestion", json!("drop"))]), all)
            .contains("control drop, though reliable"));
        // The same as in rmw_zenoh.
        assert!(
            note(&session_config("rmw_zenoh", 46), last).contains("control drop, though reliable")
        );
        assert!(note(&session_config("rmw_zenoh", 46), all).contains("control block"));
        assert!(note(&with_modes("rmw_zenoh", 46, &[("congestion", json!("block"))]), last)
            .contains("control block"));
    });
}

#[test]
fn a_late_joiner_gets_the_last_messages_of_each_writer_and_then_the_new_ones_in_order() {
    let _alone = alone_with_pools();
    for (domain_id, profile, loan) in [(50, "unixsock", false), (51, "shm", true)] {
        let (mut there, mut here) = (open(profile, domain_id), open(profile, domain_id));
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let kept = |c, depth| {
            let mut config = with_qos(c, Reliability::Reliable, History::KeepLast, depth);
            config.qos.durability = Durability::TransientLocal;
            config.loan = loan;
            config
        };
        let publish = |writer: &mut dyn Publisher, n: usize| match loan {
            true => {
                writer.publish_loaned(1, &mut |payload| payload.copy_from_slice(&byte(n))).unwrap()
            }
            false => writer.publish(&byte(n)).unwrap(),
        };
        let mut first = near.publisher(&kept(endpoint(1, "t", 8), 3)).unwrap();
        let mut second = near.publisher(&kept(endpoint(2, "t", 8), 3)).unwrap();
        (0..10).for_each(|n| publish(&mut *first, n));
        (100..102).for_each(|n| publish(&mut *second, n));
        let memory = Memory::new();
        let reader = far.subscription(&kept(endpoint(3, "t", 8), 100), memory.clone()).unwrap();
        let mut expected: Vec<_> = [7, 8, 9, 100, 101].map(byte).to_vec();
        let mut heard = memory.wait_for(5);
        heard.sort();
        expected.sort();
        assert_eq!(heard, expected, "{profile}");
        wait_until("a match", || first.matched() == 1 && reader.matched() == 2);
        (10..30).for_each(|n| publish(&mut *first, n));
        assert_eq!(memory.wait_for(25)[5..], (10..30).map(byte).collect::<Vec<_>>());
        assert_eq!(reader.account().counters["missed"], 0);
    }
}

struct Answering(AtomicUsize);

impl Handler for Answering {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        self.0.fetch_add(1, Ordering::SeqCst);
        // An empty request is not answered.
        if !request.payload.is_empty() {
            reply.send(&[request.payload, b"!"].concat()).unwrap();
        }
    }
}

fn service_endpoint(number: u32, wait: Wait) -> EndpointConfig {
    let (request, reply) = rmwbench_harness::message_type::MessageType::service_bytes(100, 100);
    let qos =
        with_qos(endpoint(number, "sum", 100), Reliability::Reliable, History::KeepLast, 1000);
    EndpointConfig { message_type: request, reply_type: Some(reply), wait, ..qos }
}

#[test]
fn each_client_gets_its_own_replies_and_what_nobody_answers_is_counted() {
    for (domain_id, wait) in [(52, Wait::Block), (53, Wait::Poll), (54, Wait::Callback)] {
        let (mut there, mut here) = (open("unixsock", domain_id), open("unixsock", domain_id));
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let memories: Vec<_> = (0..3).map(|_| Memory::new()).collect();
        let mut clients: Vec<_> = (0..3)
            .map(|i| {
                near.client(&service_endpoint(i + 1, wait), memories[i as usize].clone()).unwrap()
            })
            .collect();
        clients[0].publish(b"nobody is there").unwrap();
        wait_until("the request to end", || clients[0].account().counters["unanswered"] == 1);
        let handler = Arc::new(Answering(AtomicUsize::new(0)));
        let service = far.service(&service_endpoint(9, wait), handler.clone()).unwrap();
        wait_until("a match", || {
            service.matched() == 3 && clients.iter().all(|c| c.matched() == 1)
        });
        for n in 0..50 {
            clients
                .iter_mut()
                .enumerate()
                .for_each(|(i, client)| client.publish(format!("{i} {n}").as_bytes()).unwrap());
        }
        for (i, memory) in memories.iter().enumerate() {
            let mut heard = memory.wait_for(50);
            let mut expected: Vec<_> = (0..50).map(|n| format!("{i} {n}!").into_bytes()).collect();
            heard.sort();
            expected.sort();
            assert_eq!(heard, expected, "{wait:?}");
        }
        clients[0].publish(b"").unwrap();
        wait_until("the request to end", || clients[0].account().counters["unanswered"] == 2);
        assert_eq!(handler.0.load(Ordering::SeqCst), 151);
        assert_eq!(clients[1].account().counters["other_clients_replies"], 0);
        drop(service);
        wait_until("the service to be gone", || clients.iter().all(|c| c.matched() == 0));
    }
}

#[test]
fn a_request_that_waits_too_long_is_a_timeout() {
    struct Slow;
    impl Handler for Slow {
        fn handle(&self, _: &Delivery<'_>, reply: &mut dyn Reply) {
            std::thread::sleep(Duration::from_millis(400));
            let _ = reply.send(b"late");
        }
    }
    let mut config = session_config("unixsock", 55);
    config.profile.text = config.profile.text.replacen('{', "{ queries_default_timeout: 50,", 1);
    let (mut there, mut here) = (Zenoh.open(&config).unwrap(), Zenoh.open(&config).unwrap());
    let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
    let memory = Memory::new();
    let service = far.service(&service_endpoint(9, Wait::Block), Arc::new(Slow)).unwrap();
    let mut client = near.client(&service_endpoint(1, Wait::Block), memory.clone()).unwrap();
    wait_until("a match", || service.matched() == 1 && client.matched() == 1);
    client.publish(b"hurry").unwrap();
    wait_until("the timeout", || client.account().counters["timeouts"] == 1);
    std::thread::sleep(Duration::from_millis(500));
    let counters = client.account().counters;
    assert_eq!(
        (memory.len(), counters["unanswered"], counters["further_replies"]),
        (0, 0, 0),
        "{counters:?}"
    );
}

#[test]
fn a_provider_with_no_room_left_refuses_after_a_second_or_at_once_where_nothing_blocks() {
    let _alone = alone_with_pools();
    let refused_after = |reliability, domain_id| {
        let config = with_modes("shm", domain_id, &[("shm_pool_bytes", json!(300_000))]);
        let (mut there, mut here) = (Zenoh.open(&config).unwrap(), Zenoh.open(&config).unwrap());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let memory = Memory::new();
        memory.close_gate();
        let numbered =
            |number| with_qos(endpoint(number, "t", 100_000), reliability, History::KeepLast, 10);
        let reader = far.subscription(&numbered(1), memory.clone()).unwrap();
        let mut writer = near.publisher(&numbered(2)).unwrap();
        matched(&*writer, &*reader);
        let sent = (0..5).filter(|_| writer.publish(&[1; 100_000]) == Ok(())).count();
        assert_eq!(
            sent, 2,
            "a pool of 300 kB has room for two messages of 100 kB and its own headers"
        );
        let begun = Instant::now();
        assert_eq!(writer.publish(&[1; 100_000]), Err(PublishError::Full));
        let took = begun.elapsed();
        memory.open_gate();
        memory.wait_for(2);
        wait_until("a buffer", || writer.publish(&[1; 100_000]).is_ok());
        assert_eq!(
            reader.account().evidence.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(),
            ["shm"]
        );
        let waits = writer.granted().notes.iter().any(|note| note.contains("at most 1000 ms"));
        assert_eq!(waits, reliability == Reliability::Reliable, "{:?}", writer.granted().notes);
        took
    };
    let waited = refused_after(Reliability::Reliable, 56);
    let at_once = refused_after(Reliability::BestEffort, 58);
    assert!(at_once * 2 < waited, "best effort {at_once:?}, reliable {waited:?}");
}

#[test]
fn what_a_file_of_ones_own_keeps_out_of_shared_memory_is_not_said_to_be_lent() {
    isolated("what_a_file_of_ones_own_keeps_out_of_shared_memory_is_not_said_to_be_lent", || {
        let take = |messages: &str| {
            let text = format!(
                "{{scouting: {{multicast: {{enabled: false}}}}, listen: {{endpoints: []}}, transport: {{shared_memory: {{transport_optimization: {{pool_size: 1000000, messages: [{messages}]}}}}}}}}"
            );
            let mut session = Zenoh.open(&session(&profile("json5", &text), 60)).unwrap();
            let mut node = session.node("n").unwrap();
            let reader = node.subscription(&endpoint(1, "t", 100_000), Memory::new()).unwrap();
            reader.granted().take
        };
        assert_eq!(take("\"put\""), Some(TakenAs::Lent));
        assert_eq!(take("\"query\", \"reply\""), Some(TakenAs::Typed));
    });
}

#[test]
fn requests_are_dropped_or_wait_as_their_qos_has_it() {
    let mut session = open("unixsock", 61);
    let mut node = session.node("n").unwrap();
    let (request, reply) = MessageType::service_bytes(8, 8);
    for (reliability, word) in [(Reliability::Reliable, "block"), (Reliability::BestEffort, "drop")]
    {
        let mut config = with_qos(endpoint(1, "s", 8), reliability, History::KeepLast, 10);
        config.message_type = request.clone();
        config.reply_type = Some(reply.clone());
        let notes = node.client(&config, Memory::new()).unwrap().granted().notes;
        let expected = format!("congestion control {word}");
        assert!(notes.iter().any(|note| note.starts_with(&expected)), "{notes:?}");
    }
}

#[test]
fn a_message_of_the_same_session_and_one_that_came_by_a_link_are_told_apart() {
    let (mut here, mut there) = (open("unixsock", 59), open("unixsock", 59));
    let mut node = here.node("here").unwrap();
    let memory = Memory::new();
    let reader = node.subscription(&endpoint(1, "t", 8), memory.clone()).unwrap();
    let mut near = node.publisher(&endpoint(2, "t", 8)).unwrap();
    near.publish(&byte(1)).unwrap();
    memory.wait_for(1);
    assert_eq!(reader.account().evidence[0].path, "intra_process");
    let mut far = there.node("there").unwrap().publisher(&endpoint(3, "t", 8)).unwrap();
    wait_until("a match", || far.matched() == 1 && reader.matched() == 2);
    far.publish(&byte(2)).unwrap();
    memory.wait_for(2);
    drop(far);
    wait_until("its leaving", || reader.matched() == 1);
    let evidence = reader.account().evidence;
    let paths: Vec<_> = evidence.iter().map(|e| (e.path.as_str(), e.messages)).collect();
    assert_eq!(paths, [("intra_process", 1), ("unix", 1)], "{evidence:?}");
}

/// Where each payload was when it was taken, and whether it was reported as read in place.
#[derive(Default)]
struct Places(Mutex<Vec<(usize, bool)>>);

impl Sink for Places {
    fn deliver(&self, delivery: &Delivery<'_>) {
        let place = (delivery.payload.as_ptr().addr(), delivery.zero_copy);
        self.0.lock().unwrap().push(place);
    }
}

impl Places {
    fn wait_for(&self, count: usize) -> Vec<(usize, bool)> {
        wait_until("a delivery", || self.0.lock().unwrap().len() >= count);
        self.0.lock().unwrap().clone()
    }
}

/// Fills the API's own message and publishes it; returns the message's address.
fn publish_own(writer: &mut dyn Publisher, bytes: usize, value: u8) -> usize {
    let mut message = writer.message(bytes).expect("its users write into a message");
    // SAFETY: it stays where it is until it is published, and nobody else touches it.
    let message = unsafe { message.as_mut() };
    message.fill(value);
    writer.publish(message).unwrap();
    message.as_ptr().addr()
}

#[test]
fn zenoh_is_given_the_memory_that_was_filled() {
    let mut session = open("unixsock", 62);
    let mut node = session.node("n").unwrap();
    for (number, wait) in [(1, Wait::Callback), (3, Wait::Block)] {
        let places = Arc::new(Places::default());
        let reader = EndpointConfig { wait, ..endpoint(number, &format!("t{number}"), 1 << 20) };
        let _reader = node.subscription(&reader, places.clone()).unwrap();
        let writer = EndpointConfig { endpoint: number + 1, wait: Wait::Block, ..reader };
        let mut writer = node.publisher(&writer).unwrap();
        for n in 0..5 {
            let filled = publish_own(&mut *writer, 1 << 20, n);
            let read = places.wait_for(n as usize + 1)[n as usize];
            assert_eq!(read, (filled, true), "{wait:?}: the reader reads what was written");
        }
    }
    // This applies to requests and replies, too.
    struct Echo(Mutex<Vec<usize>>);
    impl Handler for Echo {
        fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
            self.0.lock().unwrap().push(request.payload.as_ptr().addr());
            let mut message = reply.message(100).expect("its users write into a message");
            // SAFETY: as above.
            let message = unsafe { message.as_mut() };
            message.fill(9);
            self.0.lock().unwrap().push(message.as_ptr().addr());
            reply.send(message).unwrap();
        }
    }
    let echo = Arc::new(Echo(Mutex::default()));
    let _service = node.service(&service_endpoint(5, Wait::Callback), echo.clone()).unwrap();
    let places = Arc::new(Places::default());
    let mut client = node.client(&service_endpoint(6, Wait::Callback), places.clone()).unwrap();
    let request = publish_own(&mut *client, 100, 1);
    let answered = places.wait_for(1)[0].0;
    assert_eq!(*echo.0.lock().unwrap(), [request, answered]);
}

/// A slice of the link's receive buffer would have another address each time.
#[test]
fn what_came_by_a_link_is_in_memory_of_the_readers_own_unless_it_is_asked_for_raw() {
    let (mut there, mut here) = (open("unixsock", 63), open("unixsock", 63));
    let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
    // A message in one piece of a batch, and one in several batches.
    for (number, bytes) in [(1, 1000), (10, 200_000)] {
        let topic = format!("t{number}");
        let places: Vec<_> = [Take::Typed, Take::Raw]
            .into_iter()
            .enumerate()
            .map(|(i, take)| {
                let places = Arc::new(Places::default());
                let config = EndpointConfig { take, ..endpoint(number + i as u32, &topic, bytes) };
                let reader = far.subscription(&config, places.clone()).unwrap();
                let expected = if take == Take::Raw { TakenAs::Raw } else { TakenAs::Typed };
                assert_eq!(reader.granted().take, Some(expected));
                (places, reader)
            })
            .collect();
        let mut writer = near.publisher(&endpoint(number + 5, &topic, bytes)).unwrap();
        wait_until("a match", || {
            writer.matched() == 2 && places.iter().all(|(_, reader)| reader.matched() == 1)
        });
        for n in 0..20 {
            publish_own(&mut *writer, bytes as usize, n);
            places.iter().for_each(|(places, _)| drop(places.wait_for(n as usize + 1)));
        }
        let [typed, raw] = [0, 1].map(|i| {
            let taken = places[i].0.wait_for(20);
            assert!(taken.iter().all(|(_, zero_copy)| !zero_copy), "{bytes} bytes: no loan");
            taken.iter().map(|(address, _)| *address).collect::<BTreeSet<_>>()
        });
        assert_eq!(typed.len(), 1, "{bytes} bytes: the reader's own memory is one place");
        assert!(bytes > 65_535 || raw.len() > 1, "{bytes} bytes: a batch is another place");
    }
}

/// The settings of a build of Zenoh's users that is described as installed.
#[test]
fn the_features_are_told_and_change_nothing_as_installed() {
    const LINK: &str = "a link that no embedded profile and no mode names";
    rmwbench_conformance::features::check(
        &Zenoh,
        "rmwbench-zenoh",
        "zenoh",
        &[
            ("auth_pubkey", "off unless transport/auth names keys"),
            ("auth_usrpwd", "off unless transport/auth names a user"),
            ("transport_multilink", "off while transport/unicast/max_links is 1, as it is"),
            ("transport_quic", LINK),
            ("transport_quic_datagram", LINK),
            ("transport_ws", LINK),
            ("unstable", "more of the API, for providers, liveliness and zenoh-ext"),
            ("shared-memory", "off where a profile does not speak of it, as the next lines show"),
        ],
    );
    isolated("the_features_are_told_and_change_nothing_as_installed", || {
        let on = |name: &str| {
            // A client needs its router, and the other arms' peers need none here.
            let peers = [("discovery", json!("peers"))];
            let session = Zenoh.open(&with_modes(name, 64, &peers)).unwrap();
            let text = session.configuration().unwrap().text;
            let configuration: Value = serde_json::from_str(&text).unwrap();
            configuration["transport"]["shared_memory"]["enabled"] == json!(true)
        };
        assert_eq!(["untouched", "router", "tcp"].map(on), [false; 3]);
        assert_eq!(["implicit_shm", "tuned", "shm"].map(on), [true; 3]);
    });
}

#[test]
fn what_the_death_of_a_router_means() {
    isolated("what_the_death_of_a_router_means", || {
        // Peers that have met continue without it; a later one meets nobody.
        let config = session_config("rmw_zenoh", 80);
        let router = Zenoh.daemon("router", &config).unwrap();
        let (mut there, mut here) = (Zenoh.open(&config).unwrap(), Zenoh.open(&config).unwrap());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let memory = Memory::new();
        let reader = far.subscription(&endpoint(1, "t", 8), memory.clone()).unwrap();
        let mut writer = near.publisher(&endpoint(2, "t", 8)).unwrap();
        matched(&*writer, &*reader);
        drop(router);
        std::thread::sleep(Duration::from_millis(300));
        writer.publish(&byte(1)).unwrap();
        assert_eq!(memory.wait_for(1), [byte(1)]);
        let mut late = Zenoh.open(&config).unwrap();
        let late_reader =
            late.node("late").unwrap().subscription(&endpoint(3, "t", 8), Memory::new()).unwrap();
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!((late_reader.matched(), writer.matched()), (0, 1));

        // Clients are lost without it, and are not notified; they come back when a router does.
        let config = session_config("router", 81);
        let router = Zenoh.daemon("router", &config).unwrap();
        let (mut there, mut here) = (Zenoh.open(&config).unwrap(), Zenoh.open(&config).unwrap());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let memory = Memory::new();
        let reader = far.subscription(&endpoint(1, "t", 8), memory.clone()).unwrap();
        let mut writer = near.publisher(&endpoint(2, "t", 8)).unwrap();
        matched(&*writer, &*reader);
        drop(router);
        wait_until("the match to end", || writer.matched() == 0 && reader.matched() == 0);
        writer.publish(&byte(1)).unwrap();
        let _next = Zenoh.daemon("router", &config).unwrap();
        matched(&*writer, &*reader);
        writer.publish(&byte(2)).unwrap();
        assert_eq!(memory.wait_for(1), [byte(2)]);
    });
}
