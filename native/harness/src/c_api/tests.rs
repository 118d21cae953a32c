//! A middleware written against the raw table, without a library behind it: what it is asked to publish it delivers on the spot.

use std::sync::Mutex;

use super::*;
use crate::message_type::MessageType;

static DELIVER_TO: Mutex<Option<(usize, unsafe extern "C" fn(*mut c_void, *const raw::Delivery))>> = Mutex::new(None);

unsafe extern "C" fn describe() -> *const raw::Description {
    unreachable!("these tests describe nothing")
}

unsafe extern "C" fn session_open(config: *const raw::SessionConfig, error: *mut raw::Error) -> *mut raw::Session {
    let options = slice((*config).options, (*config).option_count);
    let Some(option) = options.first() else { return 1 as *mut raw::Session };
    (*error).kind = 1;
    for (to, from) in (*error).object.iter_mut().zip(format!("option {}={}\0", text(option.name), text(option.value)).bytes()) {
        *to = from as c_char;
    }
    null_mut()
}

unsafe extern "C" fn session_close(_: *mut raw::Session) {}

unsafe extern "C" fn node_create(_: *mut raw::Session, _: *const c_char, _: *mut raw::Error) -> *mut raw::Node {
    1 as *mut raw::Node
}

unsafe extern "C" fn node_destroy(_: *mut raw::Node) {}

unsafe extern "C" fn publisher_create(_: *mut raw::Node, config: *const raw::EndpointConfig, _: *mut raw::Error) -> *mut raw::Publisher {
    assert_eq!(text((*config).dds_topic), "rt/camera");
    assert_eq!(text((*config).message_type.dds_type), "std_msgs::msg::dds_::UInt8MultiArray_");
    1 as *mut raw::Publisher
}

unsafe extern "C" fn publisher_destroy(_: *mut raw::Publisher) {}

unsafe extern "C" fn publish(_: *mut raw::Publisher, payload: *const u8, bytes: usize) -> raw::Status {
    let Some((context, deliver)) = *DELIVER_TO.lock().unwrap() else { return raw::TIMEOUT };
    let payload = if bytes == 0 { null() } else { payload };
    deliver(context as *mut c_void, &raw::Delivery { notified_ns: 1, taken_ns: 2, payload, bytes, zero_copy: 1 });
    raw::OK
}

unsafe extern "C" fn matched<T>(_: *mut T) -> u32 {
    3
}

unsafe extern "C" fn tell_granted<T>(_: *mut T, granted: *mut raw::Granted) {
    (*granted).qos.depth = 7;
    (*granted).qos.history = 1;
    (*granted).publish_mode = 2;
    ((*granted).note)((*granted).context, c"first".as_ptr());
    ((*granted).note)((*granted).context, c"second".as_ptr());
}

unsafe extern "C" fn tell_account<T>(_: *mut T, account: *const raw::Account) {
    ((*account).counter)((*account).context, c"lost".as_ptr(), -4);
    ((*account).evidence)((*account).context, c"shm".as_ptr(), 9, c"mapped".as_ptr());
}

unsafe extern "C" fn subscription_create(
    _: *mut raw::Node,
    _: *const raw::EndpointConfig,
    sink: *const raw::Sink,
    _: *mut raw::Error,
) -> *mut raw::Subscription {
    *DELIVER_TO.lock().unwrap() = Some(((*sink).context as usize, (*sink).deliver));
    1 as *mut raw::Subscription
}

unsafe extern "C" fn subscription_destroy(_: *mut raw::Subscription) {
    *DELIVER_TO.lock().unwrap() = None;
}

fn table() -> raw::Middleware {
    raw::Middleware {
        abi_version: raw::ABI_VERSION,
        struct_bytes: size_of::<raw::Middleware>() as u32,
        describe: Some(describe),
        session_open: Some(session_open),
        session_close: Some(session_close),
        node_create: Some(node_create),
        node_destroy: Some(node_destroy),
        publisher_create: Some(publisher_create),
        publisher_destroy: Some(publisher_destroy),
        publish: Some(publish),
        loan: None,
        commit: None,
        publisher_matched: Some(matched),
        publisher_granted: Some(tell_granted),
        publisher_account: Some(tell_account),
        subscription_create: Some(subscription_create),
        subscription_destroy: Some(subscription_destroy),
        subscription_matched: Some(matched),
        subscription_granted: Some(tell_granted),
        subscription_account: Some(tell_account),
    }
}

fn refusal(table: *const raw::Middleware) -> String {
    // SAFETY: the tables of these tests are null or complete.
    unsafe { CMiddleware::load(table) }.err().expect("the table must be refused").to_string()
}

#[test]
fn a_table_of_another_version_or_size_is_refused_with_expected_and_found() {
    assert!(refusal(null()).contains("NULL"));
    assert!(refusal(&raw::Middleware { abi_version: 2, ..table() }).contains("ABI version: expected 1, found 2"));
    let expected = size_of::<raw::Middleware>();
    let words = refusal(&raw::Middleware { struct_bytes: 8, ..table() });
    assert!(words.contains(&format!("expected {expected} bytes, found 8")), "{words}");
    // A table whose version is wrong is not read beyond its first two fields.
    let short = [2_u32, 8];
    assert!(refusal(short.as_ptr().cast()).contains("found 2"));
}

#[test]
fn a_missing_function_is_named_and_half_a_loan_is_refused() {
    assert!(refusal(&raw::Middleware { subscription_destroy: None, ..table() }).contains("subscription_destroy is NULL"));
    unsafe extern "C" fn commit(_: *mut raw::Publisher, _: *mut u8, _: usize) -> raw::Status {
        raw::OK
    }
    assert!(refusal(&raw::Middleware { commit: Some(commit), ..table() }).contains("expected both or neither"));
}

fn config(options: &[(&str, Value)]) -> SessionConfig {
    SessionConfig {
        profile: Profile { name: "untouched".into(), format: "none".into(), text: String::new(), summary: String::new() },
        options: options.iter().map(|(k, v)| (k.to_string(), v.clone())).collect(),
        domain_id: 0,
        trial_nonce: 1,
    }
}

#[test]
fn errors_keep_kind_and_object_and_never_come_without_words() {
    // SAFETY: a complete table.
    let middleware = unsafe { CMiddleware::load(&table()) }.unwrap();
    let error = middleware.open(&config(&[("rate", Value::from(3))])).err().unwrap();
    assert_eq!((error.kind, error.object.as_str()), (ErrorKind::Invalid, "option rate=3"));
    assert!(error.message.contains("no reason"), "{error}");
    let error = middleware.open(&config(&[("mode", Value::from("a\0b"))])).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Invalid);
}

#[derive(Default)]
struct Kept(Mutex<Vec<(i64, i64, Vec<u8>, bool)>>);

impl Sink for Kept {
    fn deliver(&self, d: &Delivery<'_>) {
        self.0.lock().unwrap().push((d.notified_ns, d.taken_ns, d.payload.to_vec(), d.zero_copy));
    }
}

#[test]
fn messages_statuses_and_accounts_cross_the_boundary_whole() {
    // SAFETY: a complete table.
    let middleware = unsafe { CMiddleware::load(&table()) }.unwrap();
    let mut session = middleware.open(&config(&[])).unwrap();
    let mut node = session.node("talker").unwrap();
    let endpoint = EndpointConfig {
        endpoint: 1,
        topic: "camera".into(),
        message_type: MessageType::bytes(4),
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
    };
    let sink = Arc::new(Kept::default());
    let mut publisher = node.publisher(&endpoint).unwrap();
    assert_eq!(publisher.publish(b"none"), Err(PublishError::Timeout));
    let subscription = node.subscription(&endpoint, sink.clone()).unwrap();
    // Endpoints hold their node and session: the caller's order of dropping does not matter.
    drop(session);
    drop(node);
    assert_eq!(publisher.publish(b"four"), Ok(()));
    assert_eq!(publisher.publish(b""), Ok(()));
    assert_eq!(publisher.publish_loaned(4, &mut |_| unreachable!()), Err(PublishError::Unsupported));
    assert_eq!(*sink.0.lock().unwrap(), [(1, 2, b"four".to_vec(), true), (1, 2, Vec::new(), true)]);
    let granted = subscription.granted();
    assert_eq!((granted.qos.history, granted.qos.depth, granted.publish_mode), (History::KeepAll, 7, PublishMode::Async));
    assert_eq!(granted.notes, ["first", "second"]);
    let account = publisher.account();
    assert_eq!((publisher.matched(), account.reader_drops, account.counters["lost"]), (3, None, -4));
    assert_eq!((account.evidence[0].path.as_str(), account.evidence[0].messages), ("shm", 9));
    drop(subscription);
    assert_eq!(publisher.publish(b"gone"), Err(PublishError::Timeout));
    assert_eq!(Arc::strong_count(&sink), 1);
}
