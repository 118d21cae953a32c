//! Properties of iceoryx2 alone, on the traits; the conformance suite tests what every middleware
//! must do.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmwbench_conformance::isolated;
use rmwbench_conformance::open_files::may_open;
use rmwbench_conformance::pair::*;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{History, Reliability};
use rmwbench_iceoryx2::Iceoryx2;

fn untouched(domain_id: u32) -> SessionConfig {
    session(&Iceoryx2.describe().profiles[0], domain_id)
}

fn open(domain_id: u32) -> Box<dyn Session> {
    Iceoryx2.open(&untouched(domain_id)).unwrap()
}

/// A reliable publisher waits for room, whatever its history.
fn blocking(domain_id: u32) -> SessionConfig {
    let mut config = untouched(domain_id);
    config.options.insert("reliable_keep_last".into(), "block".into());
    config
}

#[test]
fn every_size_arrives_whole_by_copy_and_by_loan() {
    isolated("every_size_arrives_whole_by_copy_and_by_loan", || {
        let mut session = open(domain(1));
        let mut node = session.node("sizes").unwrap();
        for (i, bytes) in [0_usize, 1, 7, 63, 64, 1000, 1 << 20, 32 << 20].into_iter().enumerate() {
            let topic = format!("size_{bytes}");
            let memory = Memory::new();
            let reader = node
                .subscription(&endpoint(2 * i as u32 + 1, &topic, bytes as u32), memory.clone())
                .unwrap();
            let mut writer =
                node.publisher(&endpoint(2 * i as u32 + 2, &topic, bytes as u32)).unwrap();
            assert_eq!((writer.matched(), reader.matched()), (1, 1));
            let message: Vec<u8> = (0..bytes).map(|k| (k * 31 + i) as u8).collect();
            writer.publish(&message).unwrap();
            writer.publish_loaned(bytes, &mut |payload| payload.copy_from_slice(&message)).unwrap();
            let got = memory.wait_for(2);
            assert!(
                got.len() == 2 && got.iter().all(|m| *m == message),
                "{bytes} bytes: {} messages",
                got.len()
            );
            assert_eq!(reader.account().evidence[0].messages, 2);
        }
    });
}

#[test]
fn best_effort_keep_last_drops_the_oldest() {
    isolated("best_effort_keep_last_drops_the_oldest", || {
        let mut session = open(domain(2));
        let mut node = session.node("oldest").unwrap();
        let qos = |c| with_qos(c, Reliability::BestEffort, History::KeepLast, 3);
        let memory = Memory::new();
        let reader = node.subscription(&qos(endpoint(1, "t", 8)), memory.clone()).unwrap();
        let mut writer = node.publisher(&qos(endpoint(2, "t", 8))).unwrap();
        overrun(&mut *writer, &memory, 10);
        memory.open_gate();
        assert_eq!(memory.wait_for(4), [byte(0), byte(8), byte(9), byte(10)]);
        assert_eq!(
            (reader.granted().qos.depth, reader.granted().qos.history),
            (3, History::KeepLast)
        );
    });
}

#[test]
fn best_effort_keep_all_drops_the_newest_and_counts_it() {
    isolated("best_effort_keep_all_drops_the_newest_and_counts_it", || {
        let mut config = untouched(domain(3));
        config.options.insert("keep_all_depth".into(), 4.into());
        let mut session = Iceoryx2.open(&config).unwrap();
        let mut node = session.node("newest").unwrap();
        let qos = |c| with_qos(c, Reliability::BestEffort, History::KeepAll, 0);
        let memory = Memory::new();
        let reader = node.subscription(&qos(endpoint(1, "t", 8)), memory.clone()).unwrap();
        let mut writer = node.publisher(&qos(endpoint(2, "t", 8))).unwrap();
        overrun(&mut *writer, &memory, 10);
        memory.open_gate();
        assert_eq!(memory.wait_for(5), [byte(0), byte(1), byte(2), byte(3), byte(4)]);
        assert_eq!(writer.account().counters["not_delivered"], 6);
        assert_eq!(reader.granted().qos.depth, 4);
    });
}

#[test]
fn reliable_loses_nothing_that_it_accepted() {
    isolated("reliable_loses_nothing_that_it_accepted", || {
        for (number, history) in [(4, History::KeepLast), (5, History::KeepAll)] {
            let mut session = Iceoryx2.open(&blocking(domain(number))).unwrap();
            let mut node = session.node("reliable").unwrap();
            let qos = |c| with_qos(c, Reliability::Reliable, history, 2);
            let memory = Memory::new();
            let _reader = node.subscription(&qos(endpoint(1, "t", 8)), memory.clone()).unwrap();
            let mut writer = node.publisher(&qos(endpoint(2, "t", 8))).unwrap();
            let accepted: Vec<Vec<u8>> = (0..2000_usize)
                .map(|n| n.to_le_bytes().to_vec())
                .filter(|message| writer.publish(message).is_ok())
                .collect();
            assert!(!accepted.is_empty());
            assert!(memory.wait_for(accepted.len()) == accepted, "{history:?}");
        }
    });
}

/// The meaning of keep_last in ROS 2, which rmw_iceoryx2 does not change.
#[test]
fn reliable_keep_last_overflows_unless_told_to_block() {
    isolated("reliable_keep_last_overflows_unless_told_to_block", || {
        let qos = |c| with_qos(c, Reliability::Reliable, History::KeepLast, 3);
        let mut session = open(domain(20));
        let mut node = session.node("overflow").unwrap();
        let memory = Memory::new();
        let reader = node.subscription(&qos(endpoint(1, "t", 8)), memory.clone()).unwrap();
        let mut writer = node.publisher(&qos(endpoint(2, "t", 8))).unwrap();
        overrun(&mut *writer, &memory, 10);
        memory.open_gate();
        assert_eq!(memory.wait_for(4), [byte(0), byte(8), byte(9), byte(10)]);
        for granted in [reader.granted(), writer.granted()] {
            assert_eq!(granted.when_full, Some(WhenFull::DropsAtReader));
            assert_eq!((granted.qos.depth, granted.qos.history), (3, History::KeepLast));
            assert_eq!(granted.qos.reliability, Reliability::Reliable);
        }
        let mut session = Iceoryx2.open(&blocking(domain(21))).unwrap();
        let mut node = session.node("block").unwrap();
        let writer = node.publisher(&qos(endpoint(1, "t", 8))).unwrap();
        assert_eq!(writer.granted().when_full, Some(WhenFull::Blocks));
        let forced = Iceoryx2.forced("untouched").unwrap();
        assert!(forced.contains("overflow"), "{forced}");
    });
}

#[test]
fn the_features_are_told_and_are_the_defaults() {
    rmwbench_conformance::features::check(&Iceoryx2, "rmwbench-iceoryx2", "iceoryx2", &[]);
}

#[test]
fn reliable_gives_up_on_a_reader_that_never_takes() {
    isolated("reliable_gives_up_on_a_reader_that_never_takes", || {
        let mut config = blocking(domain(6));
        config.options.insert("max_blocking_ms".into(), 50.into());
        let mut session = Iceoryx2.open(&config).unwrap();
        let mut node = session.node("stuck").unwrap();
        let qos = |c| with_qos(c, Reliability::Reliable, History::KeepLast, 2);
        let memory = Memory::new();
        let reader = node.subscription(&qos(endpoint(1, "t", 8)), memory.clone()).unwrap();
        let mut writer = node.publisher(&qos(endpoint(2, "t", 8))).unwrap();
        overrun(&mut *writer, &memory, 2);
        let begin = Instant::now();
        assert_eq!(writer.publish(&byte(3)), Err(PublishError::Timeout));
        assert!(begin.elapsed() >= Duration::from_millis(50) && begin.elapsed() < PATIENCE);
        assert_eq!(writer.account().counters["timeouts"], 1);
        memory.open_gate();
        assert_eq!(memory.wait_for(3), [byte(0), byte(1), byte(2)]);
        drop(reader);
        assert_eq!(writer.matched(), 0);
        assert_eq!(writer.publish(&byte(4)), Ok(()), "no reader: nobody to wait for");
    });
}

#[test]
fn polling_delivers_in_order_and_nothing_comes_after_the_reader_left() {
    isolated("polling_delivers_in_order_and_nothing_comes_after_the_reader_left", || {
        let mut session = Iceoryx2.open(&blocking(domain(7))).unwrap();
        let mut node = session.node("poll").unwrap();
        let memory = Memory::new();
        let mut poll = endpoint(1, "t", 8);
        poll.wait = Wait::Poll;
        let reader = node.subscription(&poll, memory.clone()).unwrap();
        let mut writer = node.publisher(&endpoint(2, "t", 8)).unwrap();
        // As the barrier does: the first message shows that the spinning thread has run and mapped
        // the publisher.
        writer.publish(&byte(0)).unwrap();
        memory.wait_for(1);
        let messages: Vec<_> = (0..100).map(byte).collect();
        for message in &messages {
            writer.publish(message).unwrap();
        }
        assert_eq!(memory.wait_for(101)[1..], messages);
        drop(reader);
        writer.publish(&byte(0)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(memory.len(), 101);
    });
}

#[test]
fn a_late_joiner_hears_only_what_comes_after() {
    isolated("a_late_joiner_hears_only_what_comes_after", || {
        let mut session = open(domain(8));
        let mut node = session.node("late").unwrap();
        let mut writer = node.publisher(&endpoint(1, "t", 8)).unwrap();
        writer.publish(&byte(1)).unwrap();
        let memory = Memory::new();
        let _reader = node.subscription(&endpoint(2, "t", 8), memory.clone()).unwrap();
        writer.publish(&byte(2)).unwrap();
        assert_eq!(memory.wait_for(1), [byte(2)]);
    });
}

#[test]
fn twenty_nodes_on_one_topic_need_one_waiting_thread() {
    if !may_open("twenty_nodes_on_one_topic_need_one_waiting_thread", 3000) {
        return;
    }
    isolated("twenty_nodes_on_one_topic_need_one_waiting_thread", || {
        let threads = || {
            std::fs::read_dir("/proc/self/task")
                .unwrap()
                .filter(|t| {
                    let comm = std::fs::read_to_string(t.as_ref().unwrap().path().join("comm"))
                        .unwrap_or_default();
                    comm.starts_with("waiter")
                })
                .count()
        };
        let mut session = open(domain(9));
        let before = threads();
        let mut nodes = Vec::new();
        let mut writers = Vec::new();
        let mut readers = Vec::new();
        for i in 0..20 {
            let mut node = session.node(&format!("node_{i}")).unwrap();
            let memory = Memory::new();
            readers.push((
                node.subscription(&endpoint(100 + i, "t", 8), memory.clone()).unwrap(),
                memory,
            ));
            writers.push(node.publisher(&endpoint(i + 1, "t", 8)).unwrap());
            nodes.push(node);
        }
        // Other tests of this binary may start or end their own threads meanwhile, hence the count
        // is not exact.
        assert!(threads() < before + 15, "{} threads", threads());
        for (i, writer) in writers.iter_mut().enumerate() {
            assert_eq!(writer.matched(), 20);
            writer.publish(&byte(i)).unwrap();
        }
        for (_, memory) in &readers {
            let mut got = memory.wait_for(20);
            got.sort();
            assert_eq!(got, (0..20).map(byte).collect::<Vec<_>>());
        }
    });
}

#[test]
fn a_saturated_topic_starves_neither_the_other_nor_the_removal() {
    isolated("a_saturated_topic_starves_neither_the_other_nor_the_removal", || {
        let mut session = open(domain(10));
        let mut node = session.node("busy").unwrap();
        let qos = |c| with_qos(c, Reliability::BestEffort, History::KeepLast, 1000);
        let (busy, quiet) = (Memory::new(), Memory::new());
        let busy_reader = node.subscription(&qos(endpoint(1, "busy", 8)), busy.clone()).unwrap();
        let _quiet_reader = node.subscription(&endpoint(2, "quiet", 8), quiet.clone()).unwrap();
        let mut busy_writer = node.publisher(&qos(endpoint(3, "busy", 8))).unwrap();
        let mut quiet_writer = node.publisher(&endpoint(4, "quiet", 8)).unwrap();
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = stop.clone();
        let flood = std::thread::spawn(move || {
            while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
                busy_writer.publish(&byte(1)).unwrap();
            }
        });
        busy.wait_for(1000);
        quiet_writer.publish(&byte(2)).unwrap();
        assert_eq!(quiet.wait_for(1), [byte(2)]);
        drop(busy_reader);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        flood.join().unwrap();
    });
}

#[test]
fn what_cannot_be_granted_is_refused_in_words() {
    isolated("what_cannot_be_granted_is_refused_in_words", || {
        let mut session = open(domain(11));
        let mut node = session.node("refused").unwrap();
        let memory = Memory::new();
        let kind = |result: Result<(), Error>| result.unwrap_err().kind;
        let mut callback = endpoint(1, "t", 8);
        callback.wait = Wait::Callback;
        assert_eq!(
            kind(node.subscription(&callback, memory.clone()).map(drop)),
            ErrorKind::Unsupported
        );
        let mut later = endpoint(1, "t", 8);
        later.publish_mode = PublishMode::Async;
        assert_eq!(kind(node.publisher(&later).map(drop)), ErrorKind::Unsupported);
        let none = with_qos(endpoint(1, "t", 8), Reliability::Reliable, History::KeepLast, 0);
        assert_eq!(kind(node.publisher(&none).map(drop)), ErrorKind::Invalid);

        let _writer = node.publisher(&endpoint(1, "t", 8)).unwrap();
        let other = with_qos(endpoint(2, "t", 8), Reliability::BestEffort, History::KeepLast, 10);
        let error = node.subscription(&other, memory).map(drop).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported);
        assert!(error.message.contains("all endpoints of a topic have one QoS"), "{error}");
    });
}

#[test]
fn profiles_and_options_are_checked() {
    isolated("profiles_and_options_are_checked", || {
        let mut bad = untouched(0);
        bad.profile.text = "[defaults\nmax = 3".into();
        let error = Iceoryx2.open(&bad).map(drop).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
        let mut unknown = untouched(0);
        unknown.options.insert("dept".into(), 3.into());
        assert!(Iceoryx2.open(&unknown).map(drop).unwrap_err().message.contains("keep_all_depth"));

        // A user's own profile is in force: a service for one reader refuses the second.
        let mut own = untouched(domain(12));
        own.profile.text = "[defaults.publish-subscribe]\nmax-subscribers = 1\n".into();
        let mut session = Iceoryx2.open(&own).unwrap();
        let mut node = session.node("one").unwrap();
        let _first = node.subscription(&endpoint(1, "t", 8), Memory::new()).unwrap();
        let error = node.subscription(&endpoint(2, "t", 8), Memory::new()).map(drop).unwrap_err();
        assert!(error.message.contains("ExceedsMaxSupportedSubscribers"), "{error}");
    });
}

/// Not a test: the other process of the next test.
#[test]
#[ignore]
fn child_reader() {
    let domain_id = std::env::var("RMWBENCH_TEST_DOMAIN").unwrap().parse().unwrap();
    let mut session = open(domain_id);
    let mut node = session.node("child").unwrap();
    let memory = Memory::new();
    memory.close_gate();
    let qos = with_qos(endpoint(1, "t", 8), Reliability::Reliable, History::KeepLast, 2);
    let _reader = node.subscription(&qos, memory).unwrap();
    std::thread::sleep(PATIENCE * 2);
}

#[test]
fn a_killed_reader_is_forgotten_and_blocks_nobody_for_long() {
    isolated("a_killed_reader_is_forgotten_and_blocks_nobody_for_long", || {
        let domain_id = domain(13);
        let mut session = open(domain_id);
        let mut node = session.node("survivor").unwrap();
        let qos = with_qos(endpoint(2, "t", 8), Reliability::Reliable, History::KeepLast, 2);
        let mut writer = node.publisher(&qos).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_reader", "--ignored"])
            .env("RMWBENCH_TEST_DOMAIN", domain_id.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("a match with the child's reader", || writer.matched() == 1);
        for n in 0..3 {
            let _ = writer.publish(&byte(n)); // one waits at the gate, two fill the queue
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let end = Instant::now() + PATIENCE;
        let mut in_a_row = 0;
        while in_a_row < 10 {
            assert!(Instant::now() < end, "the publisher still waits for the dead");
            in_a_row = if writer.publish(&byte(9)).is_ok() { in_a_row + 1 } else { 0 };
        }
        wait_until("the dead reader to be forgotten", || writer.matched() == 0);
    });
}
