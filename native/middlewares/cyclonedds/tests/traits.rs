//! Properties that the conformance suite cannot see from outside a worker: answers to bad input,
//! QoS read back, the bytes on the wire, and that nothing is delivered after a subscription was
//! dropped.

mod network;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use cyclors::*;
use rmwbench_conformance::pair::{self, wait_until, Memory};
use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use serde_json::json;

use network::{endpoint, error_of, session, Network};

#[test]
fn a_wrong_profile_is_refused_in_cyclones_own_words() {
    let unknown = r#"<CycloneDDS><Domain Id="any"><General><Colour>red</Colour></General></Domain></CycloneDDS>"#;
    let error = error_of(CycloneDds.open(&session(220, unknown)));
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert!(error.message.contains("Colour: unknown element"), "{error}");

    let value = r#"<CycloneDDS><Domain Id="any"><General><MaxMessageSize>huge</MaxMessageSize></General></Domain></CycloneDDS>"#;
    let error = error_of(CycloneDds.open(&session(220, value)));
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert!(error.message.contains("MaxMessageSize"), "{error}");

    for text in ["<CycloneDDS><Domain", "not a configuration"] {
        let error = error_of(CycloneDds.open(&session(220, text)));
        assert_eq!(error.kind, ErrorKind::Invalid, "{text}: {error}");
        assert!(!error.message.is_empty());
    }

    let other = r#"<CycloneDDS><Domain Id="7"><General/></Domain></CycloneDDS>"#;
    assert!(error_of(CycloneDds.open(&session(220, other)))
        .message
        .contains("other domains than 220"));

    for category in ["<Verbosity>finest</Verbosity>", "<EnableCategory>trace</EnableCategory>"] {
        let crashes = format!(
            "<CycloneDDS><Domain Id=\"any\"><Tracing>{category}</Tracing></Domain></CycloneDDS>"
        );
        assert_eq!(error_of(CycloneDds.open(&session(220, &crashes))).kind, ErrorKind::Unsupported);
    }

    let mut json5 = session(220, "{}");
    json5.profile.format = "json5".into();
    assert_eq!(error_of(CycloneDds.open(&json5)).kind, ErrorKind::Invalid);

    let mut option = session(220, "");
    option.options.insert("transport".into(), json!("tcp"));
    assert_eq!(error_of(CycloneDds.open(&option)).kind, ErrorKind::Invalid);
}

#[test]
fn a_domain_that_has_no_ports_is_refused() {
    let text = r#"<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lo"/></Interfaces></General></Domain></CycloneDDS>"#;
    let error = error_of(CycloneDds.open(&session(4_000, text)));
    assert!(!error.message.is_empty() && error.object.contains("4000"), "{error}");
}

#[test]
fn an_interface_that_does_not_exist_is_not_an_error_of_the_text() {
    let text = r#"<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="nosuch0"/></Interfaces></General></Domain></CycloneDDS>"#;
    let error = error_of(CycloneDds.open(&session(221, text)));
    assert_eq!(error.kind, ErrorKind::Failed);
    assert!(error.message.contains("nosuch0"), "{error}");
}

#[test]
fn a_domain_closes_with_its_last_session_and_opens_anew_with_another_text() {
    let network = Network::new();
    let first = network.open(0);
    let second = network.open(0);
    let other =
        network.text.replace("</General>", "<MaxMessageSize>65500B</MaxMessageSize></General>");
    let error = error_of(CycloneDds.open(&session(network.domains[0], &other)));
    assert!(error.message.contains("another configuration"), "{error}");
    drop((first, second));
    CycloneDds.open(&session(network.domains[0], &other)).unwrap();
}

#[test]
fn what_cyclone_lacks_is_unsupported_and_what_makes_no_sense_invalid() {
    let network = Network::new();
    let mut session = network.open(0);
    let mut node = session.node("lacking").unwrap();
    let plain = endpoint("lacking", 64);
    let with = |change: &dyn Fn(&mut EndpointConfig)| {
        let mut config = plain.clone();
        change(&mut config);
        config
    };
    let unsupported = [
        with(&|c| c.loan = true),
        with(&|c| c.publish_mode = PublishMode::Async),
        with(&|c| c.qos.content_filter = Some("x > 1".into())), // not the portable expression
        with(&|c| c.qos.instance_key = Some("id".into())),
    ];
    for config in unsupported {
        let error = error_of(node.publisher(&config));
        assert_eq!(
            (error.kind, error.object.as_str()),
            (ErrorKind::Unsupported, "endpoint 1"),
            "{config:?}"
        );
    }
    let no_depth = with(&|c| c.qos.depth = 0);
    assert_eq!(error_of(node.publisher(&no_depth)).kind, ErrorKind::Invalid);
    assert_eq!(error_of(node.subscription(&no_depth, Memory::new())).kind, ErrorKind::Invalid);
    assert_eq!(error_of(session.node("a\0b")).kind, ErrorKind::Invalid);

    let mut publisher = node.publisher(&plain).unwrap();
    assert_eq!(publisher.publish(&[0; 63]), Err(PublishError::Failed));
    assert_eq!(publisher.publish_loaned(64, &mut |_| ()), Err(PublishError::Unsupported));
}

#[test]
fn granted_qos_is_read_back_from_cyclone() {
    let network = Network::new();
    let mut session = network.open(0);
    let mut node = session.node("granted").unwrap();
    for reliability in [Reliability::Reliable, Reliability::BestEffort] {
        for durability in [Durability::Volatile, Durability::TransientLocal] {
            for (history, depth) in
                [(History::KeepLast, 1), (History::KeepLast, 10), (History::KeepAll, 10)]
            {
                let mut config = endpoint("granted", 64);
                config.qos = Qos {
                    reliability,
                    durability,
                    history,
                    depth,
                    content_filter: None,
                    instance_key: None,
                };
                let publisher = node.publisher(&config).unwrap().granted();
                let subscription = node.subscription(&config, Memory::new()).unwrap().granted();
                for granted in [&publisher, &subscription] {
                    let mut expected = config.qos.clone();
                    if history == History::KeepAll {
                        expected.depth = granted.qos.depth; // has no meaning
                    }
                    assert_eq!(granted.qos, expected);
                    assert!(
                        granted.notes.iter().any(|n| n
                            .starts_with("UDP on 127.0.0.1; socket buffers in force: receive ")),
                        "{:?}",
                        granted.notes
                    );
                }
                assert_eq!(publisher.publish_mode, PublishMode::Sync);
            }
        }
    }
}

/// A reader of the same topic through the bare C API sees ROS 2's names and exactly the CDR, padded
/// with zeros to four bytes.
#[test]
fn names_and_bytes_on_the_wire_are_those_of_ros() {
    for kind in ["blob", "descriptor"] {
        names_and_bytes_on_the_wire(kind);
    }
}

fn names_and_bytes_on_the_wire(kind: &str) {
    let network = Network::new();
    let (mut writing, reading) = (network.open_with_topics(0, kind), network.open(1));
    let mut config = endpoint("wire", 5);
    config.message_type.cdr_suffix = vec![0xEE];
    let mut node = writing.node("wire").unwrap();
    let mut publisher = node.publisher(&config).unwrap();
    // SAFETY: the C API as in its manual; entities are deleted with their participant.
    unsafe {
        let participant =
            dds_create_participant(network.domains[1], std::ptr::null(), std::ptr::null());
        let topic = cdds_create_blob_topic(
            participant,
            c"rt/wire".as_ptr().cast_mut(),
            c"std_msgs::msg::dds_::UInt8MultiArray_".as_ptr().cast_mut(),
            true,
        );
        let qos = dds_create_qos();
        dds_qset_reliability(qos, dds_reliability_kind_DDS_RELIABILITY_RELIABLE, i64::MAX);
        let reader = dds_create_reader(participant, topic, qos, std::ptr::null());
        dds_delete_qos(qos);
        assert!(reader > 0);
        wait_until("a match", || publisher.matched() == 1);
        let mut sample = std::ptr::null_mut();
        let mut info = std::mem::zeroed();
        wait_until("a sample", || {
            publisher.publish(&[1, 2, 3, 4, 5]).unwrap();
            dds_takecdr(reader, &mut sample, 1, &mut info, DDS_ANY_STATE) == 1
        });
        let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let reference =
            ddsi_serdata_to_ser_ref(sample, 0, ddsi_serdata_size(sample) as usize, &mut cdr);
        let bytes = std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len);
        assert_eq!(
            bytes,
            [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5, 0xEE, 0, 0],
            "{kind}"
        );
        ddsi_serdata_to_ser_unref(reference, &cdr);
        ddsi_serdata_unref(sample);
        dds_delete(participant);
    }
    drop(reading);
}

#[test]
fn described_and_blob_topics_understand_each_other() {
    for (writes, reads) in
        [("blob", "descriptor"), ("descriptor", "blob"), ("descriptor", "descriptor")]
    {
        let network = Network::new();
        let (mut writing, mut reading) =
            (network.open_with_topics(0, writes), network.open_with_topics(1, reads));
        let (mut talker, mut listener) =
            (writing.node("talker").unwrap(), reading.node("listener").unwrap());
        for bytes in [0, 5, 200_000] {
            let config = endpoint(&format!("mixed{bytes}"), bytes);
            let mut publisher = talker.publisher(&config).unwrap();
            let heard = Memory::new();
            let _subscription = listener.subscription(&config, heard.clone()).unwrap();
            let payload: Vec<u8> = (0..bytes).map(|k| (k % 253) as u8).collect();
            pair::until_heard(&mut *publisher, &heard, &payload);
            assert_eq!(heard.last(), Some(payload), "{writes} to {reads}");
        }
    }
}

#[test]
fn a_type_that_no_descriptor_describes_is_invalid() {
    let network = Network::new();
    let mut session = network.open_with_topics(0, "descriptor");
    let mut node = session.node("types").unwrap();
    let mut config = endpoint("big_endian", 64);
    config.message_type.cdr_prefix[1] = 0;
    assert_eq!(error_of(node.publisher(&config)).kind, ErrorKind::Invalid);
    assert_eq!(error_of(node.subscription(&config, Memory::new())).kind, ErrorKind::Invalid);
}

#[test]
fn every_wait_delivers_across_the_network_and_nothing_after_the_drop() {
    for wait in [Wait::Block, Wait::Callback, Wait::Poll] {
        let network = Network::new();
        let (mut writing, mut reading) = (network.open(0), network.open(1));
        let (mut talker, mut listener) =
            (writing.node("talker").unwrap(), reading.node("listener").unwrap());
        let config = EndpointConfig { wait, ..endpoint("flood", 2_000) };
        let mut publisher = talker.publisher(&config).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut payload = vec![0_u8; 2_000];
                while !stop.load(Ordering::Relaxed) {
                    payload[1_999] = payload[1_999].wrapping_add(1);
                    publisher.publish(&payload).unwrap();
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
            for _ in 0..8 {
                let heard = Memory::new();
                let subscription = listener.subscription(&config, heard.clone()).unwrap();
                assert_eq!(subscription.granted().wait, wait);
                wait_until("messages", || heard.len() > 20);
                assert_eq!(heard.last().unwrap().len(), 2_000);
                assert_eq!(subscription.matched(), 1);
                drop(subscription);
                let before = heard.len();
                std::thread::sleep(Duration::from_millis(5));
                assert_eq!(heard.len(), before, "{wait:?}");
                assert_eq!(Arc::strong_count(&heard), 1, "{wait:?}: someone still holds the sink");
            }
            stop.store(true, Ordering::Relaxed);
        });
        wait_until("the writer to see its reader go", || publisher.matched() == 0);
    }
}

#[test]
fn a_transient_local_reader_that_joins_late_gets_the_history() {
    let network = Network::new();
    let (mut writing, mut reading) = (network.open(0), network.open(1));
    let (mut talker, mut listener) =
        (writing.node("talker").unwrap(), reading.node("listener").unwrap());
    let mut config = endpoint("latched", 300_000);
    config.qos.durability = Durability::TransientLocal;
    config.qos.depth = 3;
    let mut publisher = talker.publisher(&config).unwrap();
    for k in 0..7_u8 {
        publisher.publish(&vec![k; 300_000]).unwrap();
    }
    let heard = Memory::new();
    let _subscription = listener.subscription(&config, heard.clone()).unwrap();
    wait_until("the last three", || heard.len() == 3);
    assert!(heard.last().unwrap().iter().all(|&byte| byte == 6));
}

#[test]
fn two_hundred_subscriptions_share_one_waiting_thread() {
    let network = Network::new();
    let (mut writing, mut reading) = (network.open(0), network.open(1));
    let mut talker = writing.node("talker").unwrap();
    let mut publisher = talker.publisher(&endpoint("many", 100)).unwrap();
    let mut nodes: Vec<_> =
        (0..200).map(|k| reading.node(&format!("listener{k}")).unwrap()).collect();
    let heard: Vec<_> = (0..200).map(|_| Memory::new()).collect();
    let _subscriptions: Vec<_> = nodes
        .iter_mut()
        .zip(&heard)
        .map(|(node, heard)| node.subscription(&endpoint("many", 100), heard.clone()).unwrap())
        .collect();
    wait_until("all matches", || publisher.matched() == 200);
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    assert!(threads < 150, "{threads} threads, those of the other tests included");
    wait_until("every reader", || {
        publisher.publish(&[9; 100]).unwrap();
        heard.iter().all(|h| h.len() > 0)
    });
}

/// A message of another type under our topic and type name, too short for the CDR before the
/// payload, is counted, not delivered.
#[test]
fn a_foreign_message_is_counted_as_malformed_or_cut_to_the_type() {
    let network = Network::new();
    let (mut writing, mut reading) = (network.open(0), network.open(1));
    let (mut talker, mut listener) =
        (writing.node("talker").unwrap(), reading.node("listener").unwrap());
    let mut publisher = talker.publisher(&endpoint("foreign", 4)).unwrap();
    let mut long_prefix = endpoint("foreign", 4);
    long_prefix.message_type.cdr_prefix = vec![0; 100];
    let heard = [Memory::new(), Memory::new()];
    let malformed = listener.subscription(&long_prefix, heard[0].clone()).unwrap();
    let _shorter = listener.subscription(&endpoint("foreign", 2), heard[1].clone()).unwrap();
    wait_until("both readers", || {
        publisher.publish(&[7; 4]).unwrap();
        malformed.account().counters["malformed"] > 0 && heard[1].len() > 0
    });
    assert_eq!(heard[0].len(), 0);
    assert_eq!(heard[1].last().unwrap(), [7, 7]);
}

#[test]
fn counters_are_cyclones_own() {
    let network = Network::new();
    let mut session = network.open(0);
    let mut node = session.node("counters").unwrap();
    let publisher = node.publisher(&endpoint("counters", 64)).unwrap().account();
    for counter in ["rexmit_bytes", "throttle_count", "time_throttle_ns", "time_rexmit_ns"] {
        assert_eq!(publisher.counters.get(counter), Some(&0), "{counter}");
    }
    assert_eq!(publisher.reader_drops, None);
    let subscription =
        node.subscription(&endpoint("counters", 64), Memory::new()).unwrap().account();
    assert_eq!(subscription.reader_drops, Some(0));
    assert_eq!(subscription.counters.get("discarded_bytes"), Some(&0));
}

#[test]
fn description_answers_every_capability_and_its_profiles_open() {
    let description = CycloneDds.describe();
    for name in CAPABILITIES {
        let answer = &description.capabilities[name];
        assert!(
            answer == "yes" || answer.starts_with("no: ") || answer.starts_with("partly: "),
            "{name}: {answer}"
        );
    }
    assert_eq!(
        description.profiles.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
        ["untouched", "tuned", "shm"]
    );
    // Only the tuned one stays on loopback: the conformance suite opens the others in namespaces.
    let tuned = &description.profiles[1];
    CycloneDds.open(&session(219, &tuned.text)).unwrap();
}

#[test]
fn the_features_are_told_and_change_nothing_as_installed() {
    rmwbench_conformance::features::check(
        &CycloneDds,
        "rmwbench-cyclonedds",
        "cyclors",
        &[("iceoryx", "a PubSubMessageExchange, which no configuration has that does not name it")],
    );
}

/// The library's fault because of which the worker refuses such a profile: with the content of
/// samples traced, a blob topic's first message ends the process. When this test fails, the library
/// was repaired and the refusal in `profile.rs` can be removed.
#[test]
fn reproducer_tracing_the_content_of_a_blob_sample_crashes_cyclone() {
    const CHILD: &str = "RMWBENCH_REPRODUCER_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "reproducer_tracing_the_content_of_a_blob_sample_crashes_cyclone"])
            .env(CHILD, "1")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
        return;
    }
    let text = c"<CycloneDDS><Domain><General><Interfaces><NetworkInterface name='lo'/></Interfaces></General><Tracing>\
        <Verbosity>finest</Verbosity><OutputFile>/dev/null</OutputFile></Tracing></Domain></CycloneDDS>";
    // SAFETY: the C API as in its manual.
    unsafe {
        assert!(dds_create_domain(222, text.as_ptr()) > 0);
        let participant = dds_create_participant(222, std::ptr::null(), std::ptr::null());
        let topic = cdds_create_blob_topic(
            participant,
            c"t".as_ptr().cast_mut(),
            c"T".as_ptr().cast_mut(),
            true,
        );
        let writer = dds_create_writer(participant, topic, std::ptr::null(), std::ptr::null());
        let mut sertype = std::ptr::null();
        assert_eq!(dds_get_entity_sertype(writer, &mut sertype), 0);
        let mut bytes = [0_u8; 8];
        let part = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 8 };
        dds_writecdr(
            writer,
            ddsi_serdata_from_ser_iov(sertype, ddsi_serdata_kind_SDK_DATA, 1, &part, 8),
        );
    }
}
