//! A fault of zenoh-ext 1.10.2 by which a late joiner loses history, without our worker.

use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zenoh::query::Query;
use zenoh::{Session, Wait as _};
use zenoh_ext::{
    AdvancedPublisherBuilderExt as _, AdvancedSubscriberBuilderExt as _, CacheConfig, HistoryConfig,
};

const MESSAGES: u64 = 50;

/// A peer that listens on a Unix socket of its own name and connects to those of others.
fn peer(directory: &std::path::Path, name: &str, others: &[&str]) -> Session {
    let endpoint = |name: &str| format!("unixsock-stream/{}/{name}", directory.display());
    let connect: Vec<String> = others.iter().map(|name| endpoint(name)).collect();
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("scouting/multicast/enabled", "false".to_string()),
        ("scouting/gossip/enabled", "false".to_string()),
        ("listen/endpoints", serde_json::json!([endpoint(name)]).to_string()),
        ("connect/endpoints", serde_json::json!(connect).to_string()),
    ] {
        config.insert_json5(key, &value).unwrap();
    }
    zenoh::open(config).wait().unwrap()
}

/// The next query whose key is `about`; the others are dropped.
fn next(queries: &Receiver<Query>, about: impl Fn(&str) -> bool) -> Query {
    loop {
        let query = queries.recv_timeout(Duration::from_secs(10)).expect("a query");
        if about(query.key_expr().as_str()) {
            return query;
        }
    }
}

/// A reader that joins late queries twice: all publishers for their history, and each publisher
/// that it learns of by liveliness. When the first query is answered and the second is not, the
/// next message is delivered at once, and all older messages that already wait are dropped as
/// duplicates. Here it is a message published in between. With two ways to the publisher, as
/// rmw_zenoh's sessions have (the router and the direct link), it is any message of the second
/// answer, and the conformance check of late joiners lost the 17 oldest of 50 messages so.
///
/// If this test fails, the library is repaired: remove the declaration in tests/conformance.rs and
/// the paragraph in docs/middlewares/zenoh.md.
#[test]
fn reproducer_a_message_between_two_answers_takes_the_history_away() {
    let directory = std::env::temp_dir().join(format!("rmwbench-history-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let talker = peer(&directory, "talker", &[]);
    let publisher = talker
        .declare_publisher("kept")
        .cache(CacheConfig::default().max_samples(256))
        .sample_miss_detection(Default::default())
        .publisher_detection()
        .wait()
        .unwrap();
    for seq in 0..MESSAGES {
        publisher.put(seq.to_le_bytes().to_vec()).wait().unwrap();
    }
    // A further publisher of the topic, as far as the reader's queries go; it answers when the test
    // orders it.
    let slow = peer(&directory, "slow", &[]);
    let (query_sender, queries): (Sender<Query>, Receiver<Query>) = channel();
    let _queryable = slow
        .declare_queryable("kept/@adv/**")
        .callback(move |query| drop(query_sender.send(query)))
        .wait()
        .unwrap();

    let listener = peer(&directory, "listener", &["talker", "slow"]);
    let heard: Arc<Mutex<Vec<u64>>> = Arc::default();
    let hears = heard.clone();
    // The listener must know both publishers before it queries.
    let deadline = Instant::now() + Duration::from_secs(10);
    while listener.info().peers_zid().wait().count() < 2 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300)); // time for the peers' declarations
    let _reader = listener
        .declare_subscriber("kept")
        .callback(move |sample| {
            let bytes: Vec<u8> = sample.payload().to_bytes().to_vec();
            hears.lock().unwrap().push(u64::from_le_bytes(bytes.try_into().unwrap()));
        })
        .history(HistoryConfig::default().detect_late_publishers().max_samples(256))
        .wait()
        .unwrap();
    let of_all = next(&queries, |key| key.ends_with("@adv/**"));
    let of_one = next(&queries, |key| key.contains("@adv/pub/"));
    std::thread::sleep(Duration::from_millis(300)); // time for the talker's own answers
    assert_eq!(*heard.lock().unwrap(), Vec::<u64>::new(), "the reader waits for all answers");
    drop(of_all);
    std::thread::sleep(Duration::from_millis(300));
    publisher.put(MESSAGES.to_le_bytes().to_vec()).wait().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    drop(of_one);
    std::thread::sleep(Duration::from_millis(300));

    assert_eq!(*heard.lock().unwrap(), [MESSAGES], "all of the history is lost");
    for session in [listener, slow, talker] {
        session.close().wait().unwrap();
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
