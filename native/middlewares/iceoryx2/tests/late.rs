//! Late joiners: the publisher's last messages reach them, even if the publisher sends no further
//! message.

use std::sync::Arc;

use rmwbench_conformance::isolated;
use rmwbench_conformance::pair::*;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History, Reliability};
use rmwbench_iceoryx2::Iceoryx2;

fn open(test: u32) -> Box<dyn Session> {
    Iceoryx2.open(&session(&Iceoryx2.describe().profiles[0], domain(test))).unwrap()
}

/// A full queue makes the publisher wait.
fn blocking(test: u32) -> Box<dyn Session> {
    let mut config = session(&Iceoryx2.describe().profiles[0], domain(test));
    config.options.insert("reliable_keep_last".into(), "block".into());
    Iceoryx2.open(&config).unwrap()
}

fn latched(number: u32, reliability: Reliability, history: History, depth: u32) -> EndpointConfig {
    let mut config = with_qos(endpoint(number, "t", 8), reliability, history, depth);
    config.qos.durability = Durability::TransientLocal;
    config
}

#[test]
fn a_late_joiner_gets_exactly_the_last_depth_messages_of_a_silent_publisher() {
    isolated("a_late_joiner_gets_exactly_the_last_depth_messages_of_a_silent_publisher", || {
        let mut test = 20;
        for reliability in [Reliability::Reliable, Reliability::BestEffort] {
            for wait in [Wait::Block, Wait::Poll] {
                test += 1;
                let mut session = open(test);
                let mut node = session.node("late").unwrap();
                let config = |number| EndpointConfig {
                    wait,
                    ..latched(number, reliability, History::KeepLast, 3)
                };
                let mut writer = node.publisher(&config(1)).unwrap();
                assert_eq!(writer.granted().qos.durability, Durability::TransientLocal);
                (0..7).for_each(|k| writer.publish(&byte(k)).unwrap());
                // One after the other, so that the second one, too, finds a publisher that has
                // served a joiner.
                for k in 2..4 {
                    let memory = Memory::new();
                    let _reader = node.subscription(&config(k), memory.clone()).unwrap();
                    assert_eq!(
                        memory.wait_for(3),
                        [byte(4), byte(5), byte(6)],
                        "{reliability:?} {wait:?}"
                    );
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    assert_eq!(memory.len(), 3, "nothing comes twice");
                }
            }
        }
    });
}

#[test]
fn a_late_joiner_gets_what_there_is_of_every_publisher_and_then_what_comes() {
    isolated("a_late_joiner_gets_what_there_is_of_every_publisher_and_then_what_comes", || {
        let mut session = open(30);
        let mut node = session.node("late").unwrap();
        let config = |number| latched(number, Reliability::Reliable, History::KeepAll, 0);
        let mut writers: Vec<_> =
            (1..4).map(|number| node.publisher(&config(number)).unwrap()).collect();
        for (k, writer) in writers.iter_mut().enumerate() {
            (0..=k).for_each(|n| writer.publish(&byte(10 * k + n)).unwrap());
        }
        let memory = Memory::new();
        let _reader = node.subscription(&config(9), memory.clone()).unwrap();
        let mut history = memory.wait_for(6);
        history.sort();
        assert_eq!(history, [0, 10, 11, 20, 21, 22].map(byte));
        writers[2].publish(&byte(23)).unwrap();
        assert_eq!(memory.wait_for(7)[6], byte(23));
    });
}

/// A delivery blocks the publisher's waiting thread, so that its next publish call finds the
/// joiner: it fills the joiner's queue with history and waits for room there, while the joiner has
/// received nothing.
#[test]
fn a_publish_call_wakes_the_joiner_whose_queue_it_has_filled() {
    isolated("a_publish_call_wakes_the_joiner_whose_queue_it_has_filled", || {
        let (mut ours, mut theirs) = (blocking(34), blocking(34));
        let mut node = ours.node("early").unwrap();
        let config = |number| latched(number, Reliability::Reliable, History::KeepLast, 2);
        let (memory, late) = (Memory::new(), Memory::new());
        let _reader = node.subscription(&config(1), memory.clone()).unwrap();
        let mut writer = node.publisher(&config(2)).unwrap();
        memory.close_gate();
        writer.publish(&byte(0)).unwrap();
        memory.wait_until_held();
        writer.publish(&byte(1)).unwrap();
        let _joiner = theirs.node("late").unwrap().subscription(&config(3), late.clone()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let published = writer.publish(&byte(2));
        memory.open_gate();
        published.expect("the joiner makes room as soon as it is told");
        assert_eq!(late.wait_for(3), [byte(0), byte(1), byte(2)]);
        assert_eq!(memory.wait_for(3), [byte(0), byte(1), byte(2)]);
    });
}

/// The publishing thread waits for room, with its port locked, while a joiner comes: neither may
/// wait for the other. A call may still fail as full while a joiner has not mapped the publisher's
/// memory; all others have the message then.
#[test]
fn joining_does_not_stop_a_reader_that_makes_room() {
    isolated("joining_does_not_stop_a_reader_that_makes_room", || {
        let mut options = session(&Iceoryx2.describe().profiles[0], domain(31));
        options.options.insert("max_blocking_ms".into(), 20_000.into());
        options.options.insert("reliable_keep_last".into(), "block".into());
        let mut session = Iceoryx2.open(&options).unwrap();
        let mut node = session.node("late").unwrap();
        let config = |number| latched(number, Reliability::Reliable, History::KeepLast, 2);
        let memory = Memory::new();
        let _reader = node.subscription(&config(1), memory.clone()).unwrap();
        let mut writer = node.publisher(&config(2)).unwrap();
        writer.publish(&0_usize.to_le_bytes()).unwrap();
        memory.wait_for(1);
        let publishing = std::thread::spawn(move || {
            let failures: Vec<_> =
                (1..3000_usize).filter_map(|n| writer.publish(&n.to_le_bytes()).err()).collect();
            (failures, writer)
        });
        let joiners: Vec<(Arc<Memory>, Box<dyn Subscription>)> = (3..8)
            .map(|number| {
                let memory = Memory::new();
                let reader = node.subscription(&config(number), memory.clone()).unwrap();
                (memory, reader)
            })
            .collect();
        let (failures, mut writer) = publishing.join().unwrap();
        assert!(failures.iter().all(|failure| *failure == PublishError::Full), "{failures:?}");
        let numbers: Vec<u64> = memory
            .wait_for(3000)
            .iter()
            .map(|m| u64::from_le_bytes(m[..8].try_into().unwrap()))
            .collect();
        assert!(
            numbers == (0..3000).collect::<Vec<_>>(),
            "the first reader hears each once and in order"
        );
        let last = 9999_usize.to_le_bytes().to_vec();
        wait_until("a message to all", || writer.publish(&last).is_ok());
        for (memory, _) in &joiners {
            wait_until("the last message", || memory.last().as_ref() == Some(&last));
        }
    });
}

/// In either order: iceoryx2 alone accepts a participant that requests less than there is.
#[test]
fn endpoints_of_another_qos_do_not_mix_on_a_topic() {
    isolated("endpoints_of_another_qos_do_not_mix_on_a_topic", || {
        let keep_last = |depth| latched(1, Reliability::Reliable, History::KeepLast, depth);
        let volatile = |reliability, history, depth| {
            with_qos(endpoint(1, "t", 8), reliability, history, depth)
        };
        let (reliable, best_effort) = (Reliability::Reliable, Reliability::BestEffort);
        let pairs = [
            (volatile(reliable, History::KeepLast, 10), volatile(reliable, History::KeepLast, 5)),
            (keep_last(10), volatile(reliable, History::KeepLast, 10)),
            (volatile(reliable, History::KeepAll, 0), volatile(best_effort, History::KeepAll, 0)),
        ];
        for (case, (one, other)) in pairs.into_iter().enumerate() {
            for (turn, (first, second)) in [(&one, &other), (&other, &one)].into_iter().enumerate()
            {
                let mut session = open(35 + 2 * case as u32 + turn as u32);
                let mut node = session.node("mixed").unwrap();
                let second = EndpointConfig { endpoint: 2, ..second.clone() };
                // The reader requests what the writer does not have, and the other way round.
                let writer = node.publisher(first).unwrap();
                let reads = node.subscription(&second, Memory::new()).map(drop);
                let reads = reads.expect_err(&format!("case {case}, turn {turn}"));
                drop(writer);
                let _reader = node.subscription(first, Memory::new()).unwrap();
                let writes = node.publisher(&second).map(drop).unwrap_err();
                for error in [reads, writes] {
                    assert!(
                        error.kind == ErrorKind::Unsupported
                            && error.message.contains("all endpoints of a topic have one QoS"),
                        "{error}"
                    );
                }
            }
        }
    });
}
