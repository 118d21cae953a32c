//! A middleware written against the raw table, without a library behind it: it delivers each
//! published message at once.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::table::{slice, text};
use super::{raw, CMiddleware};
use crate::message_type::MessageType;
use crate::middleware::{
    Configuration, Delivery, EndpointConfig, ErrorKind, Handler, Middleware, OneHost, Profile,
    PublishError, PublishMode, Reply, SessionConfig, SharedHost, SharedMemory, Sink, Take, TakenAs,
    Wait, WhenFull,
};
use crate::qos::{History, Qos};

static DELIVER_TO: Mutex<Option<(usize, unsafe extern "C" fn(*mut c_void, *const raw::Delivery))>> =
    Mutex::new(None);

unsafe extern "C" fn describe() -> *const raw::Description {
    unreachable!("these tests describe nothing")
}

unsafe extern "C" fn session_open(
    config: *const raw::SessionConfig,
    error: *mut raw::Error,
) -> *mut raw::Session {
    let modes = slice((*config).modes, (*config).mode_count);
    assert!(modes
        .iter()
        .all(|m| (text(m.name).as_str(), text(m.value).as_str()) == ("threads", "3")));
    let options = slice((*config).options, (*config).option_count);
    let Some(option) = options.first() else { return std::ptr::dangling_mut::<raw::Session>() };
    (*error).kind = 1;
    for (to, from) in (*error)
        .object
        .iter_mut()
        .zip(format!("option {}={}\0", text(option.name), text(option.value)).bytes())
    {
        *to = from as c_char;
    }
    null_mut()
}

unsafe extern "C" fn session_close(_: *mut raw::Session) {}

unsafe extern "C" fn node_create(
    _: *mut raw::Session,
    _: *const c_char,
    _: *mut raw::Error,
) -> *mut raw::Node {
    std::ptr::dangling_mut::<raw::Node>()
}

unsafe extern "C" fn node_destroy(_: *mut raw::Node) {}

unsafe extern "C" fn publisher_create(
    _: *mut raw::Node,
    config: *const raw::EndpointConfig,
    _: *mut raw::Error,
) -> *mut raw::Publisher {
    assert_eq!(text((*config).dds_topic), "rt/camera");
    assert_eq!(text((*config).message_type.dds_type), "std_msgs::msg::dds_::UInt8MultiArray_");
    assert!((*config).reply_type.is_null() && (*config).dds_reply_topic.is_null());
    std::ptr::dangling_mut::<raw::Publisher>()
}

static MESSAGE: Mutex<[u8; 8]> = Mutex::new([0; 8]);

unsafe extern "C" fn publisher_message(_: *mut raw::Publisher, bytes: usize) -> *mut u8 {
    let mut message = MESSAGE.lock().unwrap();
    if bytes == message.len() {
        message.as_mut_ptr()
    } else {
        null_mut()
    }
}

unsafe extern "C" fn publisher_destroy(_: *mut raw::Publisher) {}

unsafe extern "C" fn publish(
    _: *mut raw::Publisher,
    payload: *const u8,
    bytes: usize,
) -> raw::Status {
    let Some((context, deliver)) = *DELIVER_TO.lock().unwrap() else { return raw::TIMEOUT };
    let payload = if bytes == 0 { null() } else { payload };
    deliver(
        context as *mut c_void,
        &raw::Delivery { notified_ns: 1, taken_ns: 2, payload, bytes, zero_copy: 1, lossy: 1 },
    );
    raw::OK
}

unsafe extern "C" fn matched<T>(_: *mut T) -> u32 {
    3
}

unsafe extern "C" fn tell_granted<T>(_: *mut T, granted: *mut raw::Granted) {
    (*granted).qos.depth = 7;
    (*granted).qos.history = 1;
    (*granted).publish_mode = 2;
    (*granted).take = 2;
    (*granted).when_full = 4;
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
    std::ptr::dangling_mut::<raw::Subscription>()
}

unsafe extern "C" fn subscription_destroy(_: *mut raw::Subscription) {
    *DELIVER_TO.lock().unwrap() = None;
}

static ASK: Mutex<
    Option<(usize, unsafe extern "C" fn(*mut c_void, *const raw::Delivery, *const raw::Reply))>,
> = Mutex::new(None);

unsafe fn is_service(config: *const raw::EndpointConfig) {
    let reply_type = &*(*config).reply_type;
    assert_eq!(
        (text((*config).topic), text((*config).dds_topic)),
        ("sum".to_string(), "rq/sumRequest".to_string())
    );
    assert_eq!(text((*config).dds_reply_topic), "rr/sumReply");
    assert_eq!(
        (text(reply_type.dds_type).as_str(), reply_type.payload_bytes),
        ("rmwbench_msgs::srv::dds_::Bytes_Response_", 5)
    );
    assert_eq!(slice(reply_type.cdr_prefix, reply_type.cdr_prefix_bytes), [0, 1, 0, 0, 5, 0, 0, 0]);
}

unsafe extern "C" fn client_create(
    _: *mut raw::Node,
    config: *const raw::EndpointConfig,
    sink: *const raw::Sink,
    _: *mut raw::Error,
) -> *mut raw::Client {
    is_service(config);
    // The client's replies go to the client's own sink.
    Box::into_raw(Box::new(((*sink).context, (*sink).deliver))).cast()
}

unsafe extern "C" fn client_destroy(client: *mut raw::Client) {
    drop(Box::from_raw(
        client.cast::<(*mut c_void, unsafe extern "C" fn(*mut c_void, *const raw::Delivery))>(),
    ));
}

unsafe extern "C" fn client_request(
    client: *mut raw::Client,
    payload: *const u8,
    bytes: usize,
) -> raw::Status {
    unsafe extern "C" fn send(
        client: *mut c_void,
        payload: *const u8,
        bytes: usize,
    ) -> raw::Status {
        let (context, deliver) = *client
            .cast::<(*mut c_void, unsafe extern "C" fn(*mut c_void, *const raw::Delivery))>();
        deliver(
            context,
            &raw::Delivery { notified_ns: 3, taken_ns: 4, payload, bytes, zero_copy: 0, lossy: 0 },
        );
        raw::FULL
    }
    let Some((context, handle)) = *ASK.lock().unwrap() else { return raw::TIMEOUT };
    let request =
        raw::Delivery { notified_ns: 1, taken_ns: 2, payload, bytes, zero_copy: 0, lossy: 0 };
    handle(context as *mut c_void, &request, &raw::Reply { context: client.cast(), send });
    raw::OK
}

static REQUEST: Mutex<[u8; 4]> = Mutex::new([0; 4]);
static ANSWER: Mutex<[u8; 5]> = Mutex::new([0; 5]);

unsafe extern "C" fn client_message(_: *mut raw::Client, bytes: usize) -> *mut u8 {
    assert_eq!(bytes, 4);
    REQUEST.lock().unwrap().as_mut_ptr()
}

unsafe extern "C" fn reply_message(client: *mut c_void, bytes: usize) -> *mut u8 {
    assert!(!client.is_null(), "the reply's own context");
    if bytes == 5 {
        ANSWER.lock().unwrap().as_mut_ptr()
    } else {
        null_mut()
    }
}

unsafe extern "C" fn service_create(
    _: *mut raw::Node,
    config: *const raw::EndpointConfig,
    handler: *const raw::Handler,
    _: *mut raw::Error,
) -> *mut raw::Service {
    is_service(config);
    *ASK.lock().unwrap() = Some(((*handler).context as usize, (*handler).handle));
    std::ptr::dangling_mut::<raw::Service>()
}

unsafe extern "C" fn service_destroy(_: *mut raw::Service) {
    *ASK.lock().unwrap() = None;
}

unsafe extern "C" fn session_configuration(
    _: *mut raw::Session,
    configuration: *const raw::Configuration,
) {
    ((*configuration).tell)(
        (*configuration).context,
        c"xml".as_ptr(),
        c"<threads>3</threads>".as_ptr(),
    );
}

unsafe extern "C" fn profile_forced(profile: *const c_char) -> *const c_char {
    if text(profile) == "untouched" {
        c"the port".as_ptr()
    } else {
        null()
    }
}

/// A pointer that belongs to a table and is never written to.
struct Constant<T>(T);

// SAFETY: never written to.
unsafe impl<T> Sync for Constant<T> {}

static NAMES: Constant<[*const c_char; 3]> =
    Constant([c"master".as_ptr(), c"router".as_ptr(), null()]);

unsafe extern "C" fn profile_daemons(profile: *const c_char) -> *const *const c_char {
    if text(profile) == "routed" {
        NAMES.0.as_ptr()
    } else {
        null()
    }
}

static DAEMONS: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" fn daemon_open(
    name: *const c_char,
    config: *const raw::SessionConfig,
    error: *mut raw::Error,
) -> *mut raw::Daemon {
    if text(name) != "master" || (*config).trial_nonce != 1 {
        (*error).kind = 0;
        return null_mut();
    }
    DAEMONS.lock().unwrap().push(text(name));
    std::ptr::dangling_mut::<raw::Daemon>()
}

unsafe extern "C" fn daemon_close(_: *mut raw::Daemon) {
    DAEMONS.lock().unwrap().clear();
}

unsafe extern "C" fn profile_one_host(profile: *const c_char) -> *const raw::OneHost {
    static SHM: Constant<raw::OneHost> =
        Constant(raw::OneHost { reason: c"memory alone".as_ptr(), unless: NAMES.0.as_ptr() });
    if text(profile) == "shm" {
        &SHM.0
    } else {
        null()
    }
}

unsafe extern "C" fn shared_host() -> *const raw::SharedHost {
    static ROUTER: Constant<[raw::Pair; 1]> =
        Constant([raw::Pair { name: c"router".as_ptr(), value: c"its port".as_ptr() }]);
    static SHARED: Constant<raw::SharedHost> = Constant(raw::SharedHost {
        forced: c"loopback".as_ptr(),
        without: ROUTER.0.as_ptr(),
        without_count: 1,
    });
    &SHARED.0
}

unsafe extern "C" fn profile_shared_memory(profile: *const c_char) -> *const raw::SharedMemory {
    static SHM: raw::SharedMemory = raw::SharedMemory { process_bytes: 1 << 20, histories: 1 };
    if text(profile) == "shm" {
        &SHM
    } else {
        null()
    }
}

unsafe extern "C" fn mode_daemons() -> *const raw::ModeDaemons {
    static ALL: Constant<[raw::ModeDaemons; 2]> = Constant([
        raw::ModeDaemons {
            mode: c"discovery".as_ptr(),
            level: c"server".as_ptr(),
            daemons: NAMES.0.as_ptr(),
        },
        raw::ModeDaemons { mode: null(), level: null(), daemons: null() },
    ]);
    ALL.0.as_ptr()
}

unsafe extern "C" fn daemons_each_host() -> *const *const c_char {
    NAMES.0.as_ptr()
}

#[test]
fn what_is_told_of_hosts_crosses_the_boundary_and_may_be_missing() {
    // SAFETY: complete tables.
    let (whole, least) =
        unsafe { (CMiddleware::load(&table()).unwrap(), CMiddleware::load(&least()).unwrap()) };
    let names: &[&str] = &["master", "router"];
    assert_eq!(
        whole.one_host("shm"),
        Some(OneHost { reason: "memory alone", unless: &["master", "router"] })
    );
    assert_eq!(
        whole.shared_host(),
        Some(SharedHost { forced: "loopback", without: &[("router", "its port")] })
    );
    assert_eq!(
        whole.shared_memory("shm"),
        Some(SharedMemory { process_bytes: 1 << 20, histories: true })
    );
    assert_eq!(whole.mode_daemons(), [("discovery", "server", names)]);
    assert_eq!(whole.daemons_each_host(), names);
    for (middleware, profile) in [(&whole, "untouched"), (&least, "shm")] {
        assert_eq!((middleware.one_host(profile), middleware.shared_memory(profile)), (None, None));
    }
    assert_eq!(
        (least.shared_host(), least.mode_daemons().len(), least.daemons_each_host().len()),
        (None, 0, 0)
    );
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
        client_create: Some(client_create),
        client_destroy: Some(client_destroy),
        client_request: Some(client_request),
        client_matched: Some(matched),
        client_granted: Some(tell_granted),
        client_account: Some(tell_account),
        service_create: Some(service_create),
        service_destroy: Some(service_destroy),
        service_matched: Some(matched),
        service_granted: Some(tell_granted),
        service_account: Some(tell_account),
        session_configuration: Some(session_configuration),
        profile_forced: Some(profile_forced),
        profile_daemons: Some(profile_daemons),
        daemon_open: Some(daemon_open),
        daemon_close: Some(daemon_close),
        publisher_message: Some(publisher_message),
        profile_one_host: Some(profile_one_host),
        shared_host: Some(shared_host),
        profile_shared_memory: Some(profile_shared_memory),
        mode_daemons: Some(mode_daemons),
        daemons_each_host: Some(daemons_each_host),
        client_message: Some(client_message),
        reply_message: Some(reply_message),
    }
}

/// The table of a middleware that has no optional functions.
fn least() -> raw::Middleware {
    raw::Middleware {
        client_create: None,
        client_destroy: None,
        client_request: None,
        client_matched: None,
        client_granted: None,
        client_account: None,
        service_create: None,
        service_destroy: None,
        service_matched: None,
        service_granted: None,
        service_account: None,
        session_configuration: None,
        profile_forced: None,
        profile_daemons: None,
        daemon_open: None,
        daemon_close: None,
        publisher_message: None,
        profile_one_host: None,
        shared_host: None,
        profile_shared_memory: None,
        mode_daemons: None,
        daemons_each_host: None,
        client_message: None,
        reply_message: None,
        ..table()
    }
}

fn refusal(table: *const raw::Middleware) -> String {
    // SAFETY: the tables of these tests are null or complete.
    unsafe { CMiddleware::load(table) }.err().expect("the table must be refused").to_string()
}

#[test]
fn a_table_of_another_version_or_size_is_refused_with_expected_and_found() {
    assert!(refusal(null()).contains("NULL"));
    assert!(refusal(&raw::Middleware { abi_version: 1, ..table() })
        .contains("ABI version: expected 4, found 1"));
    let (least, most) = (raw::LEAST_STRUCT_BYTES, size_of::<raw::Middleware>());
    for bytes in [8, least - 8, most + 8] {
        let words = refusal(&raw::Middleware { struct_bytes: bytes as u32, ..table() });
        assert!(
            words.contains(&format!("expected {least} to {most} bytes, found {bytes}")),
            "{words}"
        );
    }
    // A table from before the last functions were added is accepted, and nothing behind its end is
    // read.
    let older = raw::Middleware { struct_bytes: raw::LEAST_STRUCT_BYTES as u32, ..table() };
    // SAFETY: it is a complete table.
    let middleware = unsafe { CMiddleware::load(&older) }.unwrap();
    assert!(!middleware.has_messages());
    assert_eq!((middleware.one_host("untouched"), middleware.mode_daemons().len()), (None, 0));
    // A table whose version is wrong is not read beyond its first two fields.
    let short = [1_u32, 8];
    assert!(refusal(short.as_ptr().cast()).contains("found 1"));
}

#[test]
fn a_missing_function_is_named_and_half_a_group_is_refused() {
    assert!(refusal(&raw::Middleware { subscription_destroy: None, ..table() })
        .contains("subscription_destroy is NULL"));
    unsafe extern "C" fn commit(_: *mut raw::Publisher, _: *mut u8, _: usize) -> raw::Status {
        raw::OK
    }
    assert!(refusal(&raw::Middleware { commit: Some(commit), ..table() })
        .contains("loan, commit: expected all or none, and loan"));
    assert!(refusal(&raw::Middleware { service_matched: None, ..table() })
        .contains("and service_matched is NULL"));
    assert!(refusal(&raw::Middleware { daemon_close: Some(daemon_close), ..least() })
        .contains("expected all or none"));
}

fn config(options: &[(&str, Value)]) -> SessionConfig {
    SessionConfig {
        profile: Profile {
            name: "untouched".into(),
            format: "none".into(),
            text: String::new(),
            summary: String::new(),
        },
        options: options.iter().map(|(k, v)| (k.to_string(), v.clone())).collect(),
        modes: Default::default(),
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

/// The delivery's two stamps, its payload, whether it was lent, and whether its body may differ.
type KeptMessage = (i64, i64, Vec<u8>, bool, bool);

#[derive(Default)]
struct Kept(Mutex<Vec<KeptMessage>>);

impl Sink for Kept {
    fn deliver(&self, d: &Delivery<'_>) {
        self.0.lock().unwrap().push((
            d.notified_ns,
            d.taken_ns,
            d.payload.to_vec(),
            d.zero_copy,
            d.lossy,
        ));
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
        reply_type: None,
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
        take: Take::Typed,
    };
    let sink = Arc::new(Kept::default());
    let mut publisher = node.publisher(&endpoint).unwrap();
    assert_eq!(publisher.publish(b"none"), Err(PublishError::Timeout));
    let subscription = node.subscription(&endpoint, sink.clone()).unwrap();
    // Endpoints keep their node and session alive: the order in which the caller drops them does
    // not matter.
    drop(session);
    drop(node);
    assert_eq!(publisher.publish(b"four"), Ok(()));
    assert_eq!(publisher.publish(b""), Ok(()));
    assert_eq!(
        publisher.publish_loaned(4, &mut |_| unreachable!()),
        Err(PublishError::Unsupported)
    );
    assert_eq!(
        *sink.0.lock().unwrap(),
        [(1, 2, b"four".to_vec(), true, true), (1, 2, Vec::new(), true, true)]
    );
    let own = publisher.message(8).map(|message| (message.cast::<u8>().as_ptr(), message.len()));
    assert_eq!(own, Some((MESSAGE.lock().unwrap().as_mut_ptr(), 8)));
    assert!(publisher.message(9).is_none(), "NULL is not a message");
    let granted = subscription.granted();
    assert_eq!(
        (granted.qos.history, granted.qos.depth, granted.publish_mode),
        (History::KeepAll, 7, PublishMode::Async)
    );
    assert_eq!(granted.notes, ["first", "second"]);
    assert_eq!(
        (granted.take, granted.when_full),
        (Some(TakenAs::Lent), Some(WhenFull::DropsAtReader))
    );
    let account = publisher.account();
    assert_eq!(
        (publisher.matched(), account.reader_drops, account.counters["lost"]),
        (3, None, -4)
    );
    assert_eq!((account.evidence[0].path.as_str(), account.evidence[0].messages), ("shm", 9));
    drop(subscription);
    assert_eq!(publisher.publish(b"gone"), Err(PublishError::Timeout));
    assert_eq!(Arc::strong_count(&sink), 1);
}

struct Echo;

impl Handler for Echo {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        assert_eq!((request.notified_ns, request.taken_ns), (1, 2));
        let own = reply.message(5).map(|message| message.cast::<u8>().as_ptr());
        assert_eq!(own, Some(ANSWER.lock().unwrap().as_mut_ptr()));
        assert!(reply.message(6).is_none(), "NULL is not a message");
        assert_eq!(
            reply.send(&[request.payload, b"!"].concat()),
            Err(PublishError::Full),
            "what the reply came to crosses the boundary too"
        );
    }
}

#[test]
fn a_request_reaches_the_handler_and_its_reply_the_client() {
    // SAFETY: a complete table.
    let middleware = unsafe { CMiddleware::load(&table()) }.unwrap();
    let mut session = middleware.open(&config(&[])).unwrap();
    let mut node = session.node("adder").unwrap();
    let (request, reply) = MessageType::service_bytes(4, 5);
    let endpoint = EndpointConfig {
        endpoint: 1,
        topic: "sum".into(),
        message_type: request,
        reply_type: Some(reply),
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
        take: Take::Typed,
    };
    let (sink, handler) = (Arc::new(Kept::default()), Arc::new(Echo));
    let mut client = node.client(&endpoint, sink.clone()).unwrap();
    assert_eq!(client.publish(b"four"), Err(PublishError::Timeout), "there is no service yet");
    let service = node.service(&endpoint, handler.clone()).unwrap();
    drop((node, session));
    assert_eq!(client.publish(b"four"), Ok(()));
    assert_eq!(*sink.0.lock().unwrap(), [(3, 4, b"four!".to_vec(), false, false)]);
    let own = client.message(4).map(|message| message.cast::<u8>().as_ptr());
    assert_eq!(own, Some(REQUEST.lock().unwrap().as_mut_ptr()));
    assert_eq!((client.matched(), service.matched(), service.granted().qos.depth), (3, 3, 7));
    assert_eq!(client.publish_loaned(4, &mut |_| unreachable!()), Err(PublishError::Unsupported));
    drop((client, service));
    assert_eq!((Arc::strong_count(&sink), Arc::strong_count(&handler)), (1, 1));
}

#[test]
fn what_a_table_leaves_out_is_unsupported_or_none() {
    // SAFETY: complete tables.
    let (whole, least) =
        unsafe { (CMiddleware::load(&table()).unwrap(), CMiddleware::load(&least()).unwrap()) };
    let modes =
        SessionConfig { modes: [("threads".to_string(), Value::from(3))].into(), ..config(&[]) };
    let expected = Configuration { format: "xml".into(), text: "<threads>3</threads>".into() };
    assert_eq!(whole.open(&modes).unwrap().configuration(), Some(expected));
    let mut session = least.open(&modes).unwrap();
    assert_eq!(session.configuration(), None);
    let (message_type, reply) = MessageType::service_bytes(4, 5);
    let (qos, publish_mode) = (Qos::default(), PublishMode::Default);
    let endpoint = EndpointConfig {
        endpoint: 9,
        topic: "sum".into(),
        message_type,
        reply_type: Some(reply),
        qos,
        loan: false,
        publish_mode,
        wait: Wait::Block,
        take: Take::Typed,
    };
    let error = session.node("n").unwrap().service(&endpoint, Arc::new(Echo)).err().unwrap();
    assert_eq!((error.kind, error.object.as_str()), (ErrorKind::Unsupported, "endpoint 9"));
    assert_eq!(
        (whole.forced("untouched"), whole.forced("tuned"), least.forced("untouched")),
        (Some("the port"), None, None)
    );
    assert_eq!(
        (whole.daemons("routed"), whole.daemons("tuned")),
        (&["master", "router"][..], &[][..])
    );
    assert!(least.daemons("routed").is_empty());
    assert_eq!(least.daemon("master", &modes).err().unwrap().kind, ErrorKind::Unsupported);
    let error = whole.daemon("rooter", &modes).err().unwrap();
    assert_eq!((error.kind, error.object.as_str()), (ErrorKind::Unsupported, "daemon rooter"));
    let daemon = whole.daemon("master", &modes).unwrap();
    assert_eq!(*DAEMONS.lock().unwrap(), ["master"]);
    drop(daemon);
    assert!(DAEMONS.lock().unwrap().is_empty());
}
