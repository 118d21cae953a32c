//! Properties of Fast DDS alone, on the traits; the conformance suite tests what every middleware
//! must do.

use std::fs;
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rmwbench_conformance::isolated;
use rmwbench_conformance::pair::{self, endpoint, until_heard, wait_until, Memory};
use rmwbench_fastdds::{struct_bytes_in_cpp, FastDds};
use rmwbench_harness::c_api::raw;
use rmwbench_harness::clock;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History, Reliability};

/// Makes Fast DDS use its transports between two sessions of one process, as between processes.
const NO_INTRAPROCESS: &str =
    "<library_settings><intraprocess_delivery>OFF</intraprocess_delivery></library_settings>";

fn try_open(format: &str, text: &str) -> Result<Box<dyn Session>, Error> {
    FastDds::new().open(&pair::session(&pair::profile(format, text), 7))
}

/// A session with the profile whose body is `xml`, or without one.
fn open(xml: &str) -> Box<dyn Session> {
    let text = if xml.is_empty() { String::new() } else { wrapped(xml) };
    try_open("xml", &text).unwrap()
}

fn wrapped(xml: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<dds xmlns=\"http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles\">{xml}</dds>")
}

#[test]
fn both_compilers_see_the_same_structs() {
    let in_rust = [
        size_of::<raw::Error>(),
        size_of::<raw::Pair>(),
        size_of::<raw::Profile>(),
        size_of::<raw::Description>(),
        size_of::<raw::SessionConfig>(),
        size_of::<raw::Qos>(),
        size_of::<raw::MessageType>(),
        size_of::<raw::EndpointConfig>(),
        size_of::<raw::Delivery>(),
        size_of::<raw::Sink>(),
        size_of::<raw::Granted>(),
        size_of::<raw::Account>(),
        size_of::<raw::Source>(),
        size_of::<raw::WaitSet>(),
    ];
    assert_eq!(in_rust, struct_bytes_in_cpp());
}

#[test]
fn the_description_answers_everything() {
    let description = FastDds::new().describe();
    assert!(CAPABILITIES.iter().all(|name| {
        let answer = &description.capabilities[*name];
        answer == "yes" || answer.starts_with("no: ") || answer.starts_with("partly: ")
    }));
    let date = description.release_date.as_bytes();
    assert!(date.is_empty() || date.len() == 10 && date[4] == b'-', "{}", description.release_date);
    for (version, date) in [("2.9.1", "2023-01-19"), ("3.6.2.0", "2026-07-01")] {
        assert!(
            description.version != version || description.release_date == date,
            "{}",
            description.release_date
        );
    }
    let ends = [("2.9.", "2023-07"), ("3.3.", "2026-01"), ("3.6.", "2027-03")];
    for (series, month) in ends {
        if description.version.starts_with(series) {
            assert_eq!(description.build["end_of_life"], month, "{}", description.version);
        }
    }
    assert_eq!(
        description.profiles.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
        ["untouched", "tuned", "shm", "data_sharing", "discovery_server"]
    );
}

#[test]
fn a_profile_that_fast_dds_does_not_take_is_refused_in_its_words() {
    isolated("a_profile_that_fast_dds_does_not_take_is_refused_in_its_words", || {
        let refusal =
            |format: &str, text: &str| try_open(format, text).err().expect("it must be refused");
        let error = refusal("xml", "<dds><profiles><participant");
        assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
        assert!(error.message.contains("Fast DDS says: "), "{error}");
        // The return code accepts it although it is skipped: only the log shows this.
        let unknown = wrapped(
            "<profiles><data_writer profile_name=\"w\"><no_such_thing/></data_writer></profiles>",
        );
        assert!(
            refusal("xml", &unknown).message.contains("no_such_thing"),
            "{}",
            refusal("xml", &unknown)
        );
        let unmarked = wrapped("<profiles><participant profile_name=\"p\"><rtps><name>p</name></rtps></participant></profiles>");
        assert!(refusal("xml", &unmarked).message.contains("is_default_profile"));
        assert!(refusal("json5", "{mode: 'peer'}").message.contains("expected xml, found json5"));
    });
}

#[test]
fn a_process_holds_one_profile_and_says_so() {
    isolated("a_process_holds_one_profile_and_says_so", || {
        let profile = |mode| {
            let writer = format!("<publishMode><kind>{mode}</kind></publishMode>");
            format!("<profiles><data_writer profile_name=\"w\" is_default_profile=\"true\"><qos>{writer}</qos></data_writer></profiles>")
        };
        let granted = |session: &mut Box<dyn Session>| {
            session
                .node("n")
                .unwrap()
                .publisher(&endpoint(1, "t", 8))
                .unwrap()
                .granted()
                .publish_mode
        };
        let mut first = open(&profile("ASYNCHRONOUS"));
        let mut again = open(&profile("ASYNCHRONOUS"));
        let mut without = open("");
        assert_eq!(granted(&mut first), PublishMode::Async);
        assert_eq!(granted(&mut again), PublishMode::Async);
        assert_eq!(granted(&mut without), PublishMode::Sync);
        let error = try_open("xml", &wrapped(&profile("SYNCHRONOUS"))).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
    });
}

#[test]
fn profiles_of_the_environment_are_shut_out() {
    isolated("profiles_of_the_environment_are_shut_out", || {
        let foreign = wrapped(
            "<profiles><data_writer profile_name=\"w\" is_default_profile=\"true\">\
             <qos><publishMode><kind>ASYNCHRONOUS</kind></publishMode></qos></data_writer></profiles>",
        );
        fs::write("/tmp/foreign.xml", &foreign).unwrap();
        fs::write("/tmp/DEFAULT_FASTRTPS_PROFILES.xml", &foreign).unwrap();
        std::env::set_current_dir("/tmp").unwrap();
        std::env::set_var("FASTRTPS_DEFAULT_PROFILES_FILE", "/tmp/foreign.xml");
        let mut session = open("");
        let writer = session.node("n").unwrap().publisher(&endpoint(1, "t", 8)).unwrap();
        assert_eq!(writer.granted().publish_mode, PublishMode::Sync);
    });
}

#[test]
fn the_suite_stands_above_the_profile_and_a_topic_above_the_default() {
    isolated("the_suite_stands_above_the_profile_and_a_topic_above_the_default", || {
        let mut session = open(
            "<profiles><!-- <data_writer profile_name=\"no\" is_default_profile=\"true\"> -->\
             <data_writer profile_name=\"/slow\"><qos><publishMode><kind>ASYNCHRONOUS</kind></publishMode></qos>\
             <topic><historyQos><kind>KEEP_LAST</kind><depth>99</depth></historyQos></topic></data_writer></profiles>",
        );
        let mut node = session.node("n").unwrap();
        let plain = node.publisher(&endpoint(1, "fast", 8)).unwrap();
        let slow = node.publisher(&endpoint(2, "slow", 8)).unwrap();
        let synchronous =
            EndpointConfig { publish_mode: PublishMode::Sync, ..endpoint(3, "slow", 8) };
        let synchronous = node.publisher(&synchronous).unwrap();
        let modes = [&plain, &slow, &synchronous].map(|p| p.granted().publish_mode);
        assert_eq!(modes, [PublishMode::Sync, PublishMode::Async, PublishMode::Sync]);
        assert_eq!(slow.granted().qos.depth, 10);
        assert!(slow.granted().notes.iter().any(|n| n.contains("asynchronous")));
        let mut deep = endpoint(4, "deep", 8);
        deep.qos.depth = 20_000;
        assert_eq!(node.publisher(&deep).unwrap().granted().qos.depth, 20_000);
    });
}

#[test]
fn what_it_cannot_do_is_an_error_with_a_reason() {
    isolated("what_it_cannot_do_is_an_error_with_a_reason", || {
        let mut session = open("");
        let mut node = session.node("n").unwrap();
        let mut filtered = endpoint(1, "t", 8);
        filtered.qos.content_filter = Some("x > 1".into());
        let error = node.publisher(&filtered).err().unwrap();
        assert_eq!((error.kind, error.object.as_str()), (ErrorKind::Unsupported, "endpoint 1"));
        let error =
            node.publisher(&EndpointConfig { loan: true, ..endpoint(1, "t", 8) }).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Unsupported);
        let mut empty = endpoint(1, "t", 8);
        empty.qos.depth = 0;
        assert_eq!(node.publisher(&empty).err().unwrap().kind, ErrorKind::Invalid);
        let writer = node.publisher(&endpoint(1, "t", 8)).unwrap();
        let mut other = endpoint(2, "t", 8);
        other.message_type.ros_type = "sensor_msgs/msg/Image".into();
        let error = node.publisher(&other).err().unwrap();
        assert!(
            error.kind == ErrorKind::Invalid && error.message.contains("UInt8MultiArray_"),
            "{error}"
        );
        drop(writer);
        node.publisher(&other).unwrap();
    });
}

/// Sizes around RTPS's padding, its fragments (64 kB) and its segment (512 KiB), to the largest
/// that suites use.
const SIZES: [u32; 10] = [0, 1, 3, 63, 65, 1000, 65_499, 70_001, 1 << 20, (32 << 20) + 1];

fn every_size_arrives_whole(xml: &str) {
    let (mut writing, mut reading) = (open(xml), open(xml));
    let (mut talker, mut listener) =
        (writing.node("talker").unwrap(), reading.node("listener").unwrap());
    for (wait_number, wait) in [Wait::Block, Wait::Poll, Wait::Callback].into_iter().enumerate() {
        for (i, bytes) in SIZES.into_iter().enumerate() {
            let topic = format!("size_{wait_number}_{bytes}");
            let memory = Memory::new();
            let number = (wait_number * 100 + i) as u32;
            let config = EndpointConfig { wait, ..endpoint(2 * number + 1, &topic, bytes) };
            let reader = listener.subscription(&config, memory.clone()).unwrap();
            let mut writer = talker.publisher(&endpoint(2 * number + 2, &topic, bytes)).unwrap();
            wait_until("the match", || (writer.matched(), reader.matched()) == (1, 1));
            let message: Vec<u8> = (0..bytes as usize).map(|k| (k * 31 + i) as u8).collect();
            // One at a time: as installed, the repair of a large message takes seconds, and the
            // next one would push it out of the history.
            wait_until("the first message", || {
                writer.publish(&message).unwrap();
                let patience = Instant::now() + Duration::from_secs(10);
                while memory.len() == 0 && Instant::now() < patience {
                    std::thread::sleep(Duration::from_millis(2));
                }
                memory.len() > 0
            });
            writer.publish(&message).unwrap();
            let got = memory.wait_for(2);
            assert!(
                got.iter().all(|m| *m == message),
                "{wait:?}, {bytes} bytes: {:?}",
                got.iter().map(Vec::len).collect::<Vec<_>>()
            );
            assert_eq!(reader.granted().wait, wait);
        }
    }
}

#[test]
fn every_size_arrives_whole_within_the_process() {
    isolated("every_size_arrives_whole_within_the_process", || every_size_arrives_whole(""));
}

#[test]
fn every_size_arrives_whole_through_the_transports() {
    isolated("every_size_arrives_whole_through_the_transports", || {
        every_size_arrives_whole(NO_INTRAPROCESS)
    });
}

#[test]
fn a_full_keep_all_history_times_out_and_loses_nothing_that_it_accepted() {
    isolated("a_full_keep_all_history_times_out_and_loses_nothing_that_it_accepted", || {
        let limits = "<resourceLimitsQos><max_samples>8</max_samples><max_instances>1</max_instances>\
             <max_samples_per_instance>8</max_samples_per_instance><allocated_samples>8</allocated_samples></resourceLimitsQos>";
        let small = |tag: &str| {
            format!("<{tag} profile_name=\"small\" is_default_profile=\"true\"><topic>{limits}</topic></{tag}>")
        };
        let xml = format!(
            "{NO_INTRAPROCESS}<profiles>{}{}</profiles>",
            small("data_writer"),
            small("data_reader")
        );
        let (mut writing, mut reading) = (open(&xml), open(&xml));
        let memory = Memory::new();
        let mut config = endpoint(1, "t", 8);
        config.qos.history = History::KeepAll;
        let reader = reading.node("r").unwrap().subscription(&config, memory.clone()).unwrap();
        let mut writer = writing.node("w").unwrap().publisher(&config).unwrap();
        assert!(
            writer.granted().notes.iter().any(|n| n.contains("at most 8 messages")),
            "{:?}",
            writer.granted()
        );
        wait_until("the match", || (writer.matched(), reader.matched()) == (1, 1));
        until_heard(&mut *writer, &memory, &[0; 8]);
        memory.close_gate();
        let mut accepted = Vec::new();
        let mut refused = 0;
        for number in 1_u64..=40 {
            match writer.publish(&number.to_le_bytes()) {
                Ok(()) => accepted.push(number),
                Err(PublishError::Timeout | PublishError::Full) => refused += 1,
                Err(error) => panic!("message {number}: {error:?}"),
            }
        }
        assert!(refused > 0, "a reader that does not take must fill both histories");
        memory.open_gate();
        let numbers = || -> Vec<u64> {
            let all = memory.wait_for(0);
            all.iter()
                .map(|m| u64::from_le_bytes(m[..].try_into().unwrap()))
                .filter(|n| *n > 0)
                .collect()
        };
        wait_until("every accepted message", || numbers().len() >= accepted.len());
        assert_eq!(numbers(), accepted);
    });
}

#[test]
fn a_late_joiner_gets_the_depth_when_transient_local_and_nothing_when_volatile() {
    isolated("a_late_joiner_gets_the_depth_when_transient_local_and_nothing_when_volatile", || {
        let (mut writing, mut reading) = (open(NO_INTRAPROCESS), open(NO_INTRAPROCESS));
        let mut talker = writing.node("w").unwrap();
        let mut config = endpoint(1, "t", 1);
        config.qos.durability = Durability::TransientLocal;
        config.qos.depth = 3;
        let mut writer = talker.publisher(&config).unwrap();
        assert_eq!(writer.granted().qos.durability, Durability::TransientLocal);
        (0_u8..10).for_each(|n| writer.publish(&[n]).unwrap());
        let (old, new) = (Memory::new(), Memory::new());
        let mut listener = reading.node("r").unwrap();
        let keeps = listener.subscription(&config, old.clone()).unwrap();
        config.qos.durability = Durability::Volatile;
        let fresh =
            listener.subscription(&EndpointConfig { endpoint: 2, ..config }, new.clone()).unwrap();
        assert_eq!(old.wait_for(3), [[7], [8], [9]]);
        wait_until("the match", || {
            writer.matched() == 2 && keeps.matched() == 1 && fresh.matched() == 1
        });
        wait_until("a new message", || {
            writer.publish(&[99]).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            new.len() > 0
        });
        assert_eq!(new.wait_for(1)[0], [99]);
    });
}

#[test]
fn a_dropped_subscription_is_called_no_more_and_the_others_go_on() {
    isolated("a_dropped_subscription_is_called_no_more_and_the_others_go_on", || {
        for (i, wait) in [Wait::Block, Wait::Poll, Wait::Callback].into_iter().enumerate() {
            let (mut writing, mut reading) = (open(NO_INTRAPROCESS), open(NO_INTRAPROCESS));
            let topic = format!("t{i}");
            let (stays, leaves) = (Memory::new(), Memory::new());
            let mut listener = reading.node("r").unwrap();
            let numbered = |number| EndpointConfig { wait, ..endpoint(number, &topic, 64) };
            let _staying = listener.subscription(&numbered(1), stays.clone()).unwrap();
            let leaving = listener.subscription(&numbered(2), leaves.clone()).unwrap();
            let mut writer = writing.node("w").unwrap().publisher(&numbered(3)).unwrap();
            wait_until("the match", || writer.matched() == 2);
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let publishing = scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        writer.publish(&[7; 64]).unwrap();
                        std::thread::sleep(Duration::from_micros(100));
                    }
                    wait_until("the leaver's farewell", || writer.matched() == 1);
                });
                leaves.wait_for(100);
                drop(leaving);
                let (left, stayed) = (leaves.len(), stays.len());
                stays.wait_for(stayed + 100);
                stop.store(true, Ordering::Relaxed);
                publishing.join().unwrap();
                assert_eq!(leaves.len(), left, "{wait:?}");
            });
        }
    });
}

#[test]
fn a_wait_set_rests_when_nothing_comes() {
    isolated("a_wait_set_rests_when_nothing_comes", || {
        let (mut writing, mut reading) = (open(NO_INTRAPROCESS), open(NO_INTRAPROCESS));
        let memory = Memory::new();
        let reader =
            reading.node("r").unwrap().subscription(&endpoint(1, "t", 8), memory.clone()).unwrap();
        let mut writer = writing.node("w").unwrap().publisher(&endpoint(2, "t", 8)).unwrap();
        wait_until("the match", || (writer.matched(), reader.matched()) == (1, 1));
        until_heard(&mut *writer, &memory, &[0; 8]);
        // Bursts, so that takes and notifications overlap in every order.
        let mut busiest: f64 = 0.0;
        for _ in 0..20 {
            (0..50).for_each(|n| writer.publish(&[n; 8]).unwrap());
            std::thread::sleep(Duration::from_millis(20));
            let (began, cpu) = (Instant::now(), clock::process_cpu_ns());
            std::thread::sleep(Duration::from_millis(50));
            let used = (clock::process_cpu_ns() - cpu) as f64 / began.elapsed().as_nanos() as f64;
            busiest = busiest.max(used);
        }
        assert!(busiest < 0.5, "at rest the process used {:.0} % of a core", busiest * 100.0);
    });
}

#[test]
fn many_subscriptions_wait_in_one_thread() {
    isolated("many_subscriptions_wait_in_one_thread", || {
        let threads = || fs::read_dir("/proc/self/task").unwrap().count();
        let mut session = open("");
        let memory = Memory::new();
        for wait in [Wait::Block, Wait::Poll, Wait::Callback] {
            let numbered =
                |n: u32| EndpointConfig { wait, ..endpoint(n, &format!("{wait:?}{n}"), 8) };
            let mut node = session.node("n").unwrap();
            let first = node.subscription(&numbered(1), memory.clone()).unwrap();
            let before = threads();
            let rest: Vec<_> =
                (2..60).map(|n| node.subscription(&numbered(n), memory.clone()).unwrap()).collect();
            assert_eq!(threads(), before, "{wait:?}");
            let heard = memory.len();
            let mut writers: Vec<_> =
                (1..60).map(|n| node.publisher(&numbered(n)).unwrap()).collect();
            wait_until("all matches", || {
                writers.iter().all(|w| w.matched() == 1) && rest.iter().all(|r| r.matched() == 1)
            });
            writers.iter_mut().for_each(|w| w.publish(&[1; 8]).unwrap());
            assert_eq!(memory.wait_for(heard + 59).len(), heard + 59, "{wait:?}");
            drop(first);
        }
    });
}

#[test]
fn unlike_reliabilities_do_not_match_and_are_counted() {
    isolated("unlike_reliabilities_do_not_match_and_are_counted", || {
        let mut session = open("");
        let mut node = session.node("n").unwrap();
        let mut offered = endpoint(1, "t", 8);
        offered.qos.reliability = Reliability::BestEffort;
        let writer = node.publisher(&offered).unwrap();
        assert_eq!(writer.granted().qos.reliability, Reliability::BestEffort);
        let reader = node.subscription(&endpoint(2, "t", 8), Memory::new()).unwrap();
        wait_until("the complaint", || reader.account().counters["requested_incompatible_qos"] > 0);
        assert_eq!((writer.matched(), reader.matched()), (0, 0));
        assert_eq!(reader.account().reader_drops, Some(0));
    });
}

#[test]
fn a_message_shorter_than_its_layout_is_counted_and_not_delivered() {
    isolated("a_message_shorter_than_its_layout_is_counted_and_not_delivered", || {
        let (mut writing, mut reading) = (open(NO_INTRAPROCESS), open(NO_INTRAPROCESS));
        let memory = Memory::new();
        let reader =
            reading.node("r").unwrap().subscription(&endpoint(1, "t", 8), memory.clone()).unwrap();
        let mut talker = writing.node("w").unwrap();
        let mut short = endpoint(2, "t", 0);
        short.message_type.cdr_prefix = vec![0, 1, 0, 0];
        let mut broken = talker.publisher(&short).unwrap();
        let mut whole = talker.publisher(&endpoint(3, "t", 8)).unwrap();
        wait_until("the match", || {
            reader.matched() == 2 && broken.matched() == 1 && whole.matched() == 1
        });
        wait_until("the refusal", || {
            broken.publish(&[]).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            reader.account().counters["short_payloads"] > 0
        });
        until_heard(&mut *whole, &memory, &[5; 8]);
        assert!(memory.wait_for(1).iter().all(|m| *m == [5; 8]));
    });
}
