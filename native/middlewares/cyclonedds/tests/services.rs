//! Services as in rmw_cyclonedds: names, header and USER_DATA on the wire, and which client gets
//! which reply.

mod network;

use std::ffi::{c_void, CStr};
use std::sync::{Arc, Mutex};

use cyclors::*;
use rmwbench_conformance::pair::{wait_until, Memory};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::History;
use serde_json::json;

use network::{error_of, Network};

const REQUEST_BYTES: u32 = 40;
const REPLY_BYTES: u32 = 1000;

/// Answers each request with its first byte, repeated.
#[derive(Default)]
struct Echo {
    requests: Mutex<Vec<Vec<u8>>>,
}

impl Handler for Echo {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        assert!(0 < request.notified_ns && request.notified_ns <= request.taken_ns);
        self.requests.lock().unwrap().push(request.payload.to_vec());
        reply.send(&[request.payload[0]; REPLY_BYTES as usize]).unwrap();
    }
}

/// Reliable and keep all: with ROS 2's default, other clients' replies push a client's own reply
/// out, which another test shows.
fn service(endpoint: u32, name: &str) -> EndpointConfig {
    let (message_type, reply) = MessageType::service_bytes(REQUEST_BYTES, REPLY_BYTES);
    let mut config = network::endpoint(name, REQUEST_BYTES);
    config.qos.history = History::KeepAll;
    EndpointConfig { endpoint, message_type, reply_type: Some(reply), ..config }
}

fn reply_to(request: u8) -> Vec<u8> {
    vec![request; REPLY_BYTES as usize]
}

#[test]
fn each_client_gets_its_own_replies_and_counts_those_of_others() {
    for wait in [Wait::Block, Wait::Callback, Wait::Poll] {
        for kind in ["blob", "descriptor"] {
            let network = Network::new();
            let (mut asking, mut answering) =
                (network.open_with_topics(0, kind), network.open_with_topics(1, kind));
            let (mut callers, mut server) =
                (asking.node("callers").unwrap(), answering.node("server").unwrap());
            let echo = Arc::new(Echo::default());
            let with_wait = |endpoint| {
                let mut config = EndpointConfig { wait, ..service(endpoint, "sum") };
                // The queue is deep enough for all: a keep-all writer may wait, and a callback must
                // not.
                if wait == Wait::Callback {
                    (config.qos.history, config.qos.depth) = (History::KeepLast, 100);
                }
                config
            };
            let service = server.service(&with_wait(1), echo.clone()).unwrap();
            assert_eq!(service.granted().wait, wait);
            let heard = [Memory::new(), Memory::new()];
            let mut clients: Vec<_> = (0..2)
                .map(|k| callers.client(&with_wait(k + 2), heard[k as usize].clone()).unwrap())
                .collect();
            wait_until("all matches", || {
                service.matched() == 2 && clients.iter().all(|client| client.matched() == 1)
            });
            // Both clients send requests in turns without waiting for answers.
            for k in 0..30_u8 {
                clients[0].publish(&[k; REQUEST_BYTES as usize]).unwrap();
                if k % 3 == 0 {
                    clients[1].publish(&[100 + k; REQUEST_BYTES as usize]).unwrap();
                }
            }
            assert_eq!(
                heard[0].wait_for(30),
                (0..30).map(reply_to).collect::<Vec<_>>(),
                "{wait:?} {kind}"
            );
            assert_eq!(
                heard[1].wait_for(10),
                (0..10).map(|k| reply_to(100 + 3 * k)).collect::<Vec<_>>(),
                "{wait:?} {kind}"
            );
            assert_eq!(echo.requests.lock().unwrap().len(), 40);
            let body = 16 + 4 + i64::from(REPLY_BYTES);
            for (client, others) in clients.iter().zip([10, 30]) {
                let counter = |name: &str| client.account().counters[name];
                wait_until("the others' replies", || counter("other_clients_replies") == others);
                let padded = body + 3;
                assert!(
                    (others * body..=others * padded)
                        .contains(&counter("other_clients_reply_bytes")),
                    "{:?}",
                    client.account()
                );
            }
            assert_eq!(clients[0].granted().publish_mode, PublishMode::Sync);
            let dropped = clients.pop();
            drop(dropped);
            wait_until("one client less", || service.matched() == 1);
        }
    }
}

/// The effect of ROS 2's default (keep last 10) on one topic for the replies to all clients: a
/// client that does not take for a while loses its own reply to those of others, reliable or not,
/// and no counter shows it.
#[test]
fn surprise_replies_to_others_push_out_ones_own() {
    let network = Network::new();
    let (mut asking, mut answering) = (network.open(0), network.open(1));
    let (mut callers, mut server) =
        (asking.node("callers").unwrap(), answering.node("server").unwrap());
    let by_default = |endpoint| {
        let mut config = service(endpoint, "pushed");
        (config.qos.history, config.qos.depth) = (History::KeepLast, 10);
        config
    };
    let service = server.service(&service(1, "pushed"), Arc::new(Echo::default())).unwrap();
    let (slow, quick) = (Memory::new(), Memory::new());
    let mut waits = callers.client(&by_default(2), slow.clone()).unwrap();
    // Each client has its own thread: the slow one's does not delay it.
    let mut asks = callers
        .client(
            &EndpointConfig { wait: Wait::Callback, ..self::service(3, "pushed") },
            quick.clone(),
        )
        .unwrap();
    wait_until("all matches", || {
        service.matched() == 2 && waits.matched() == 1 && asks.matched() == 1
    });
    slow.close_gate();
    waits.publish(&[1; REQUEST_BYTES as usize]).unwrap();
    slow.wait_until_held();
    waits.publish(&[2; REQUEST_BYTES as usize]).unwrap();
    (0..20).for_each(|k| asks.publish(&[100 + k; REQUEST_BYTES as usize]).unwrap());
    assert_eq!(quick.wait_for(20).len(), 20);
    waits.publish(&[3; REQUEST_BYTES as usize]).unwrap();
    wait_until("the last answer at the other", || {
        asks.account().counters["other_clients_replies"] == 3
    });
    slow.open_gate();
    wait_until("the last answer", || slow.last() == Some(reply_to(3)));
    assert_eq!(slow.wait_for(2), [reply_to(1), reply_to(3)]);
    assert_eq!(waits.account().reader_drops, Some(0), "Cyclone counts them after all");
}

#[test]
fn a_service_that_may_wait_for_acknowledgements_is_not_called_back() {
    let network = Network::new();
    let mut session = network.open(0);
    let called = EndpointConfig { wait: Wait::Callback, ..service(1, "waits") };
    let mut node = session.node("server").unwrap();
    let refused = node.service(&called, Arc::new(Echo::default())).map(drop).unwrap_err();
    assert!(
        refused.kind == ErrorKind::Unsupported && refused.message.contains("wait callback"),
        "{refused:?}"
    );
}

#[test]
fn a_request_that_no_service_hears_is_never_answered() {
    let network = Network::new();
    let (mut asking, mut answering) = (network.open(0), network.open(1));
    let (mut callers, mut server) =
        (asking.node("callers").unwrap(), answering.node("server").unwrap());
    let heard = Memory::new();
    let mut client = callers.client(&service(2, "late"), heard.clone()).unwrap();
    (0..5).for_each(|k| client.publish(&[k; REQUEST_BYTES as usize]).unwrap());
    let echo = Arc::new(Echo::default());
    let service = server.service(&service(1, "late"), echo.clone()).unwrap();
    wait_until("the match", || service.matched() == 1 && client.matched() == 1);
    client.publish(&[9; REQUEST_BYTES as usize]).unwrap();
    assert_eq!(heard.wait_for(1), [reply_to(9)]);
    assert_eq!(echo.requests.lock().unwrap().len(), 1);
}

#[test]
fn a_service_without_reply_type_is_invalid() {
    let network = Network::new();
    let mut session = network.open(0);
    let mut node = session.node("node").unwrap();
    let config = EndpointConfig { reply_type: None, ..service(1, "bare") };
    assert_eq!(error_of(node.client(&config, Memory::new())).kind, ErrorKind::Invalid);
    let error = error_of(node.service(&config, Arc::new(Echo::default())));
    assert!(error.message.contains("reply_type"), "{error}");
}

/// A replier on the bare C API takes the place of rmw_cyclonedds: it reads the names, the header
/// and the USER_DATA that rmw_cyclonedds reads, and its answer, in the form of rmw_cyclonedds, is
/// accepted.
#[test]
fn a_client_speaks_to_a_service_of_rmw_cyclonedds() {
    let network = Network::new();
    let mut asking = network.open(0);
    let _holds_the_domain_open = network.open(1);
    let mut node = asking.node("caller").unwrap();
    let heard = Memory::new();
    let mut client = node.client(&service(0x0102_0304, "add_two_ints"), heard.clone()).unwrap();
    // SAFETY: the C API as in its manual; entities are deleted with their participant.
    unsafe {
        let participant =
            dds_create_participant(network.domains[1], std::ptr::null(), std::ptr::null());
        let topic = |name: &CStr, type_name: &CStr| {
            cdds_create_blob_topic(
                participant,
                name.as_ptr().cast_mut(),
                type_name.as_ptr().cast_mut(),
                true,
            )
        };
        let requests =
            topic(c"rq/add_two_intsRequest", c"rmwbench_msgs::srv::dds_::Bytes_Request_");
        let replies = topic(c"rr/add_two_intsReply", c"rmwbench_msgs::srv::dds_::Bytes_Response_");
        let qos = dds_create_qos();
        dds_qset_reliability(qos, dds_reliability_kind_DDS_RELIABILITY_RELIABLE, i64::MAX);
        dds_qset_history(qos, dds_history_kind_DDS_HISTORY_KEEP_ALL, -1);
        let reader = dds_create_reader(participant, requests, qos, std::ptr::null());
        let writer = dds_create_writer(participant, replies, qos, std::ptr::null());
        dds_delete_qos(qos);
        wait_until("a match", || client.matched() == 1);

        let mut request_writer = 0;
        wait_until("the client's writer", || {
            dds_get_matched_publications(reader, &mut request_writer, 1) == 1
        });
        // The client has matched both of our endpoints; our writer has to match its reader, too, or
        // its message goes to no reader.
        let mut reply_reader = 0;
        wait_until("the client's reader", || {
            dds_get_matched_subscriptions(writer, &mut reply_reader, 1) == 1
        });
        let endpoint = dds_get_matched_publication_data(reader, request_writer);
        let (mut user_data, mut bytes): (*mut c_void, usize) = (std::ptr::null_mut(), 0);
        assert!(dds_qget_userdata((*endpoint).qos, &mut user_data, &mut bytes));
        let text =
            String::from_utf8(std::slice::from_raw_parts(user_data.cast::<u8>(), bytes).to_vec())
                .unwrap();
        assert!(
            text.starts_with("clientid=")
                && text.ends_with(".1.2.3.4;")
                && text.matches('.').count() == 15,
            "{text}"
        );

        let mut samples = [std::ptr::null_mut(); 2];
        let mut infos: [dds_sample_info_t; 2] = std::mem::zeroed();
        client.publish(&[1; REQUEST_BYTES as usize]).unwrap();
        client.publish(&[2; REQUEST_BYTES as usize]).unwrap();
        let mut messages = Vec::new();
        wait_until("two requests", || {
            let taken =
                dds_takecdr(reader, samples.as_mut_ptr(), 2, infos.as_mut_ptr(), DDS_ANY_STATE);
            for &sample in &samples[..taken.max(0) as usize] {
                let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
                let reference = ddsi_serdata_to_ser_ref(
                    sample,
                    0,
                    ddsi_serdata_size(sample) as usize,
                    &mut cdr,
                );
                messages.push(
                    std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len).to_vec(),
                );
                ddsi_serdata_to_ser_unref(reference, &cdr);
                ddsi_serdata_unref(sample);
            }
            messages.len() == 2
        });
        assert_eq!(messages[0][..4], [0, 1, 0, 0]);
        assert_eq!(messages[0][4..12], messages[1][4..12], "one client, one identity");
        let number = |message: &[u8]| i64::from_le_bytes(message[12..20].try_into().unwrap());
        assert!(
            number(&messages[1]) > number(&messages[0]),
            "other tests of this process ask as well"
        );
        assert_eq!(messages[0][20..26], [40, 0, 0, 0, 1, 1]);

        let mut sertype = std::ptr::null();
        assert_eq!(dds_get_entity_sertype(writer, &mut sertype), 0);
        // The second request is answered first; one reply is another client's.
        for (header, byte) in
            [(&messages[1][..20], 2_u8), (&[0; 20][..], 7), (&messages[0][..20], 1)]
        {
            let mut reply =
                [&[0, 1, 0, 0], &header[4..20], &REPLY_BYTES.to_le_bytes(), &reply_to(byte)]
                    .concat();
            let part = iovec { iov_base: reply.as_mut_ptr().cast(), iov_len: reply.len() };
            dds_writecdr(
                writer,
                ddsi_serdata_from_ser_iov(
                    sertype,
                    ddsi_serdata_kind_SDK_DATA,
                    1,
                    &part,
                    reply.len(),
                ),
            );
        }
        assert_eq!(heard.wait_for(2), [reply_to(2), reply_to(1)]);
        assert_eq!(client.account().counters["other_clients_replies"], 1);
        dds_delete(participant);
    }
}

#[test]
fn many_clients_share_the_waiting_thread_and_each_hears_all_replies() {
    let network = Network::new();
    let (mut asking, mut answering) = (network.open(0), network.open(1));
    let (mut callers, mut server) =
        (asking.node("callers").unwrap(), answering.node("server").unwrap());
    let service = server.service(&service(1, "busy"), Arc::new(Echo::default())).unwrap();
    let heard: Vec<_> = (0..20).map(|_| Memory::new()).collect();
    let config = |k: usize| EndpointConfig { endpoint: 2 + k as u32, ..self::service(0, "busy") };
    let mut clients: Vec<_> = heard
        .iter()
        .enumerate()
        .map(|(k, memory)| callers.client(&config(k), memory.clone()).unwrap())
        .collect();
    wait_until("all matches", || {
        service.matched() == 20 && clients.iter().all(|client| client.matched() == 1)
    });
    for (k, client) in clients.iter_mut().enumerate() {
        client.publish(&[k as u8; REQUEST_BYTES as usize]).unwrap();
    }
    for (k, memory) in heard.iter().enumerate() {
        assert_eq!(memory.wait_for(1), [reply_to(k as u8)]);
    }
    wait_until("everybody's replies at everybody", || {
        clients.iter().all(|client| client.account().counters["other_clients_replies"] == 19)
    });
}

#[test]
fn within_a_process_services_need_no_network() {
    let network = Network::new();
    let mut session = network.open_with(0, &[("transport", json!("intra_process"))], &[]).unwrap();
    let mut node = session.node("both").unwrap();
    let heard = Memory::new();
    let service_ = node.service(&service(1, "near"), Arc::new(Echo::default())).unwrap();
    let mut client = node.client(&service(2, "near"), heard.clone()).unwrap();
    wait_until("the match", || service_.matched() == 1 && client.matched() == 1);
    client.publish(&[3; REQUEST_BYTES as usize]).unwrap();
    assert_eq!(heard.wait_for(1), [reply_to(3)]);
    let evidence = client.account().evidence;
    assert_eq!((evidence[0].path.as_str(), evidence[0].messages), ("intra_process", 1));
}
