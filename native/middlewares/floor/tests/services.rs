//! Services over the floor's sockets: what the connection carries, who may join, and that one
//! process does not wait for itself.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmwbench_floor::Floor;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::Qos;
use serde_json::{json, Value};

fn open(domain_id: u32, options: Value, modes: Value) -> Result<Box<dyn Session>, Error> {
    let profile = Profile {
        name: "untouched".into(),
        format: "none".into(),
        text: String::new(),
        summary: String::new(),
    };
    let (options, modes) =
        (serde_json::from_value(options).unwrap(), serde_json::from_value(modes).unwrap());
    Floor.open(&SessionConfig { profile, options, modes, domain_id, trial_nonce: 1 })
}

/// A domain whose directory is removed with it.
struct Domain(u32);

impl Domain {
    fn new(test: u32) -> Domain {
        Domain(std::process::id().wrapping_mul(64) + 16 + test)
    }

    fn session(&self, transport: &str) -> Box<dyn Session> {
        open(self.0, json!({"transport": transport}), json!({})).unwrap()
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(format!("/tmp/rmwbench-floor.{}", self.0));
    }
}

fn endpoint(number: u32, request_bytes: u32, reply_bytes: u32) -> EndpointConfig {
    let (message_type, reply_type) = MessageType::service_bytes(request_bytes, reply_bytes);
    EndpointConfig {
        endpoint: number,
        topic: "echo".into(),
        message_type,
        reply_type: Some(reply_type),
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
        take: Take::Typed,
    }
}

/// Answers with this many copies of the request's first byte.
struct Echo(usize);

impl Handler for Echo {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        reply.send(&vec![request.payload[0]; self.0]).unwrap();
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<u8>>);

impl Sink for Heard {
    fn deliver(&self, delivery: &Delivery<'_>) {
        assert!(delivery.payload.iter().all(|byte| *byte == delivery.payload[0]));
        self.0.lock().unwrap().push(delivery.payload[0]);
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "not reached: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_process_that_asks_itself_for_more_than_a_socket_holds_does_not_wait_for_itself() {
    for (number, transport) in ["unix", "tcp"].into_iter().enumerate() {
        let domain = Domain::new(number as u32);
        let mut session = domain.session(transport);
        let mut node = session.node("both").unwrap();
        let heard = Arc::new(Heard::default());
        let service =
            node.service(&endpoint(9, 1 << 20, 4 << 20), Arc::new(Echo(4 << 20))).unwrap();
        let mut client = node.client(&endpoint(1, 1 << 20, 4 << 20), heard.clone()).unwrap();
        until("match", || client.matched() == 1 && service.matched() == 1);
        for k in 0..10 {
            client.publish(&vec![k; 1 << 20]).unwrap();
        }
        until("ten answers", || heard.0.lock().unwrap().len() == 10);
        assert_eq!(
            *heard.0.lock().unwrap(),
            (0..10).collect::<Vec<u8>>(),
            "one thread answers in order"
        );
        assert_eq!(service.account().evidence[0].messages, 10);
    }
}

#[test]
fn each_client_hears_its_own_answers_and_a_client_of_other_types_is_refused() {
    let domain = Domain::new(2);
    let (mut asking, mut adding) = (domain.session("unix"), domain.session("unix"));
    let heard = [Arc::new(Heard::default()), Arc::new(Heard::default())];
    let (mut askers, mut adder) = (asking.node("askers").unwrap(), adding.node("adder").unwrap());
    let service = adder.service(&endpoint(9, 64, 64), Arc::new(Echo(64))).unwrap();
    let mut clients = [0, 1].map(|place| {
        askers.client(&endpoint(place as u32 + 1, 64, 64), heard[place].clone()).unwrap()
    });
    let stranger = askers.client(&endpoint(3, 64, 65), Arc::new(Heard::default())).unwrap();
    let met = || clients.iter().all(|c| c.matched() == 1) && service.matched() == 2;
    until("match", || met() && service.account().counters["refused_peers"] == 1);
    assert_eq!((service.matched(), stranger.matched()), (2, 0));
    for _ in 0..100 {
        clients[0].publish(&[1; 64]).unwrap();
        clients[1].publish(&[2; 64]).unwrap();
    }
    until("all answers", || heard.iter().all(|h| h.0.lock().unwrap().len() == 100));
    assert!(
        heard[0].0.lock().unwrap().iter().all(|byte| *byte == 1)
            && heard[1].0.lock().unwrap().iter().all(|byte| *byte == 2)
    );
    drop(clients);
    until("the clients are gone", || service.matched() == 0);
}

/// For each answer, whether no thread waited for it.
#[derive(Default)]
struct Awaited(Mutex<Vec<bool>>);

impl Sink for Awaited {
    fn deliver(&self, delivery: &Delivery<'_>) {
        self.0.lock().unwrap().push(delivery.notified_ns == delivery.taken_ns);
    }
}

#[test]
fn each_client_of_a_process_waits_as_it_asked() {
    let domain = Domain::new(7);
    let (mut asking, mut adding) = (domain.session("unix"), domain.session("unix"));
    let (mut askers, mut adder) = (asking.node("askers").unwrap(), adding.node("adder").unwrap());
    let service = adder.service(&endpoint(9, 64, 64), Arc::new(Echo(64))).unwrap();
    let heard = [0, 1].map(|_| Arc::new(Awaited::default()));
    let mut clients = [(0, Wait::Block), (1, Wait::Poll)].map(|(place, wait)| {
        let config = EndpointConfig { wait, ..endpoint(place as u32 + 1, 64, 64) };
        askers.client(&config, heard[place].clone()).unwrap()
    });
    until("match", || service.matched() == 2 && clients.iter().all(|c| c.matched() == 1));
    for k in 0..20 {
        for client in &mut clients {
            client.publish(&[k; 64]).unwrap();
        }
        until("answers", || heard.iter().all(|h| h.0.lock().unwrap().len() == k as usize + 1));
    }
    let all =
        |place: usize, polled: bool| heard[place].0.lock().unwrap().iter().all(|p| *p == polled);
    assert!(all(0, false), "it was woken for each answer");
    assert!(all(1, true), "it looked for each answer itself");
}

#[test]
fn a_ring_has_no_services_and_says_so() {
    let domain = Domain::new(3);
    let mut session = domain.session("shm_ring");
    let error =
        session.node("n").unwrap().service(&endpoint(9, 64, 64), Arc::new(Echo(64))).err().unwrap();
    assert_eq!((error.kind, error.object.as_str()), (ErrorKind::Unsupported, "endpoint 9"));
    assert!(error.message.contains("unix"), "{error}");
}

#[test]
fn a_mode_replaces_the_option_and_what_cannot_be_is_refused_by_its_name() {
    let domain = Domain::new(4);
    let mut session =
        open(domain.0, json!({"transport": "shm_ring"}), json!({"transport": "tcp"})).unwrap();
    let plain = EndpointConfig { reply_type: None, ..endpoint(1, 64, 64) };
    let publisher = session.node("n").unwrap().publisher(&plain).unwrap();
    assert_eq!(publisher.account().evidence[0].path, "tcp");
    let refused =
        |modes: Value| open(domain.0, json!({}), modes).err().map(|e| (e.kind, e.object)).unwrap();
    assert_eq!(
        refused(json!({"transport": "intra_process"})),
        (ErrorKind::Unsupported, "mode transport".into())
    );
    assert_eq!(refused(json!({"threads": 2})), (ErrorKind::Unsupported, "mode threads".into()));
}
