//! Request-response: which client gets which reply, how many may be awaited, and what remains when
//! the other side is gone.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use rmwbench_conformance::isolated;
use rmwbench_conformance::pair::*;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History};
use rmwbench_iceoryx2::Iceoryx2;

const REPLY_BYTES: u32 = 5_000;

/// Answers each request with its first byte, repeated; waits while its gate is locked.
#[derive(Default)]
struct Echo {
    gate: Mutex<()>,
    requests: Mutex<Vec<u8>>,
}

impl Handler for Echo {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        assert!(
            0 < request.notified_ns && request.notified_ns <= request.taken_ns && request.zero_copy
        );
        self.requests.lock().unwrap().push(request.payload[0]);
        let _open = self.gate.lock().unwrap();
        reply.send(&[request.payload[0]; REPLY_BYTES as usize]).unwrap();
    }
}

fn open(domain_id: u32) -> Box<dyn Session> {
    Iceoryx2.open(&session(&Iceoryx2.describe().profiles[0], domain_id)).unwrap()
}

fn service(number: u32, name: &str) -> EndpointConfig {
    let (message_type, reply) = MessageType::service_bytes(40, REPLY_BYTES);
    EndpointConfig { message_type, reply_type: Some(reply), ..endpoint(number, name, 40) }
}

fn request(byte: usize) -> [u8; 40] {
    [byte as u8; 40]
}

fn reply(byte: usize) -> Vec<u8> {
    vec![byte as u8; REPLY_BYTES as usize]
}

#[test]
fn every_client_gets_its_own_replies_and_no_others() {
    isolated("every_client_gets_its_own_replies_and_no_others", || {
        for (test, wait) in [(40, Wait::Block), (41, Wait::Poll)] {
            let mut session = open(domain(test));
            let mut node = session.node("services").unwrap();
            let config = |number| EndpointConfig { wait, ..service(number, "sum") };
            let echo = Arc::new(Echo::default());
            let server = node.service(&config(1), echo.clone()).unwrap();
            let heard: Vec<_> = (0..5).map(|_| Memory::new()).collect();
            let mut clients: Vec<_> = heard
                .iter()
                .zip(2..)
                .map(|(m, number)| node.client(&config(number), m.clone()).unwrap())
                .collect();
            assert_eq!(server.matched(), 5);
            for k in 0..10 {
                for (c, client) in clients.iter_mut().enumerate() {
                    assert_eq!(client.matched(), 1);
                    match k % 2 {
                        0 => client.publish(&request(10 * c + k)).unwrap(),
                        _ => client
                            .publish_loaned(40, &mut |place| {
                                place.copy_from_slice(&request(10 * c + k))
                            })
                            .unwrap(),
                    }
                }
            }
            for (c, (memory, client)) in heard.iter().zip(&clients).enumerate() {
                assert_eq!(
                    memory.wait_for(10),
                    (0..10).map(|k| reply(10 * c + k)).collect::<Vec<_>>(),
                    "{wait:?}"
                );
                let account = client.account();
                assert_eq!(
                    (account.counters["other_clients_replies"], account.evidence[0].messages),
                    (0, 10)
                );
            }
            assert_eq!(server.account().evidence[0].messages, 50);
            drop(clients);
            assert_eq!(server.matched(), 0);
        }
    });
}

#[test]
fn a_client_has_as_many_requests_without_answer_as_its_depth() {
    isolated("a_client_has_as_many_requests_without_answer_as_its_depth", || {
        let mut session = open(domain(42));
        let mut node = session.node("services").unwrap();
        let config = |number| {
            let mut config = service(number, "slow");
            (config.qos.history, config.qos.depth) = (History::KeepLast, 4);
            config
        };
        let echo = Arc::new(Echo::default());
        let _server = node.service(&config(1), echo.clone()).unwrap();
        let memory = Memory::new();
        let mut client = node.client(&config(2), memory.clone()).unwrap();
        assert_eq!(
            (client.granted().qos.depth, client.granted().publish_mode),
            (4, PublishMode::Sync)
        );
        let gate = echo.gate.lock().unwrap();
        (0..4).for_each(|k| client.publish(&request(k)).unwrap());
        assert_eq!(client.publish(&request(4)), Err(PublishError::Full));
        assert_eq!(client.account().counters["too_many_requests"], 1);
        drop(gate);
        assert_eq!(memory.wait_for(4), (0..4).map(reply).collect::<Vec<_>>());
        // Answered requests do not count: the client may send further ones, without a limit.
        for k in 5..50 {
            wait_until("room for a request", || client.publish(&request(k)).is_ok());
        }
        assert_eq!(memory.wait_for(49).last(), Some(&reply(49)));
    });
}

/// iceoryx2's marks grow with the square of the depth: without a bound this takes seconds and
/// hundreds of megabytes.
#[test]
fn a_large_depth_is_cut_and_told() {
    isolated("a_large_depth_is_cut_and_told", || {
        let mut session = open(domain(48));
        let mut node = session.node("services").unwrap();
        let mut config = service(1, "deep");
        config.qos.depth = 2_000;
        let server = node.service(&config, Arc::new(Echo::default())).unwrap();
        let granted = server.granted();
        assert_eq!(granted.qos.depth, 64);
        assert!(granted
            .notes
            .iter()
            .any(|n| n
                .contains("asked for a depth of 2000, the option max_active_requests grants 64")));
    });
}

#[test]
fn what_nobody_hears_is_never_answered_and_takes_no_room() {
    isolated("what_nobody_hears_is_never_answered_and_takes_no_room", || {
        let mut session = open(domain(43));
        let mut node = session.node("services").unwrap();
        let memory = Memory::new();
        let mut client = node.client(&service(2, "later"), memory.clone()).unwrap();
        (0..30).for_each(|k| client.publish(&request(k)).unwrap());
        assert_eq!(client.account().counters["requests_without_service"], 30);
        let echo = Arc::new(Echo::default());
        let _server = node.service(&service(1, "later"), echo.clone()).unwrap();
        client.publish(&request(99)).unwrap();
        assert_eq!(memory.wait_for(1), [reply(99)]);
        assert_eq!(*echo.requests.lock().unwrap(), [99]);
    });
}

#[test]
fn two_services_of_a_name_both_answer() {
    isolated("two_services_of_a_name_both_answer", || {
        let mut session = open(domain(44));
        let mut node = session.node("services").unwrap();
        let echo = Arc::new(Echo::default());
        let _servers: Vec<_> = (0..2)
            .map(|number| node.service(&service(number + 5, "twice"), echo.clone()).unwrap())
            .collect();
        let memory = Memory::new();
        let mut client = node.client(&service(2, "twice"), memory.clone()).unwrap();
        assert_eq!(client.matched(), 2);
        for k in 0..20 {
            client.publish(&request(k)).unwrap();
            assert_eq!(memory.wait_for(2 * k + 2)[2 * k..], [reply(k), reply(k)]);
        }
    });
}

#[test]
fn what_makes_no_service_is_refused_in_words() {
    isolated("what_makes_no_service_is_refused_in_words", || {
        let mut session = open(domain(45));
        let mut node = session.node("services").unwrap();
        let error = |result: Result<(), Error>| result.unwrap_err();
        let bare = EndpointConfig { reply_type: None, ..service(1, "bare") };
        assert_eq!(error(node.client(&bare, Memory::new()).map(drop)).kind, ErrorKind::Invalid);
        assert_eq!(
            error(node.service(&bare, Arc::new(Echo::default())).map(drop)).kind,
            ErrorKind::Invalid
        );
        let mut latched = service(1, "latched");
        latched.qos.durability = Durability::TransientLocal;
        assert_eq!(
            error(node.client(&latched, Memory::new()).map(drop)).kind,
            ErrorKind::Unsupported
        );
        let callback = EndpointConfig { wait: Wait::Callback, ..service(1, "callback") };
        assert_eq!(
            error(node.service(&callback, Arc::new(Echo::default())).map(drop)).kind,
            ErrorKind::Unsupported
        );
        let _server = node.service(&service(1, "depth"), Arc::new(Echo::default())).unwrap();
        let mut deeper = service(2, "depth");
        deeper.qos.depth = 20;
        let error = error(node.client(&deeper, Memory::new()).map(drop));
        assert!(
            error.kind == ErrorKind::Unsupported
                && error.message.contains("another endpoint of this service"),
            "{error}"
        );
    });
}

/// Not a test: the other process of the next test, whose service answers nothing.
#[test]
#[ignore]
fn child_service() {
    let mut session = open(std::env::var("RMWBENCH_TEST_DOMAIN").unwrap().parse().unwrap());
    let mut node = session.node("child").unwrap();
    let echo = Arc::new(Echo::default());
    let _gate = echo.gate.lock().unwrap();
    let _service = node.service(&service(1, "mortal"), echo.clone()).unwrap();
    std::thread::sleep(PATIENCE * 2);
}

#[test]
fn a_killed_service_is_forgotten_and_the_next_one_answers() {
    isolated("a_killed_service_is_forgotten_and_the_next_one_answers", || {
        let domain_id = domain(46);
        let mut session = open(domain_id);
        let mut node = session.node("survivor").unwrap();
        let memory = Memory::new();
        let mut client = node.client(&service(2, "mortal"), memory.clone()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_service", "--ignored"])
            .env("RMWBENCH_TEST_DOMAIN", domain_id.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the child's service", || client.matched() == 1);
        (0..3).for_each(|k| client.publish(&request(k)).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("the dead service to be forgotten", || client.matched() == 0);
        let _server = node.service(&service(1, "mortal"), Arc::new(Echo::default())).unwrap();
        wait_until("an answer of the living", || {
            let _ = client.publish(&request(9));
            memory.last() == Some(reply(9))
        });
        wait_until("the requests of the dead to be given up", || {
            client.account().counters["unanswered"] == 3
        });
    });
}

#[test]
fn a_pool_of_a_few_chunks_is_one() {
    isolated("a_pool_of_a_few_chunks_is_one", || {
        let mut config = session(&Iceoryx2.describe().profiles[0], domain(47));
        config.modes = [("shm_pool_bytes".to_string(), 8_500_000.into())].into();
        let mut session = Iceoryx2.open(&config).unwrap();
        let mut node = session.node("pool").unwrap();
        let memory = Memory::new();
        let _reader = node.subscription(&endpoint(1, "t", 1 << 20), memory.clone()).unwrap();
        let mut writer = node.publisher(&endpoint(2, "t", 1 << 20)).unwrap();
        assert!(
            writer.granted().notes.iter().any(|n| n.starts_with("pool: 8 chunks, 838")),
            "{:?}",
            writer.granted().notes
        );
        let segments =
            std::fs::read_dir("/dev/shm").unwrap().flatten().map(|f| f.metadata().unwrap().len());
        let largest = segments.max().unwrap();
        assert!((8 << 20..10 << 20).contains(&largest), "{largest} bytes in the largest segment");
        // The reader holds one message and queues others: a pool of eight is empty before its queue
        // of ten is full.
        overrun(&mut *writer, &memory, 7);
        assert_eq!(writer.publish(&vec![1; 1 << 20]), Err(PublishError::Full));
        memory.open_gate();
        wait_until("a chunk", || writer.publish(&vec![2; 1 << 20]).is_ok());
        assert!(session_configuration_is_the_profile(&config));
    });
}

fn session_configuration_is_the_profile(config: &SessionConfig) -> bool {
    let configuration = Iceoryx2.open(config).unwrap().configuration().unwrap();
    configuration == Configuration { format: "toml".into(), text: config.profile.text.clone() }
}
