//! Middlewares written in C or C++ behind the traits: one adapter over the table of `include/rmwbench_worker.h`.
//!
//! The adapter adds two pointer calls to a message and nothing else: no allocation, no copy, no lock. Whatever crosses the boundary
//! is checked once, when the table is loaded (version, size, missing functions), so that the hot path need not ask.
//!
//! A Rust crate may use it too: the Fast DDS worker's `main` passes its C++ shim's table to [`CMiddleware::load`].

pub mod raw;

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::process::ExitCode;
use std::ptr::{null, null_mut, NonNull};
use std::sync::Arc;

use serde_json::Value;

use crate::message_type::dds_topic_name;
use crate::middleware::{
    capabilities, Account, Delivery, Description, Endpoint, EndpointConfig, Error, ErrorKind, Evidence, Granted, Middleware, Node, Profile,
    PublishError, PublishMode, Publisher, Session, SessionConfig, Sink, Subscription, Wait,
};
use crate::qos::{Durability, History, Qos, Reliability};

/// A table's functions, all present.
#[derive(Clone, Copy)]
struct Table {
    describe: unsafe extern "C" fn() -> *const raw::Description,
    session_open: unsafe extern "C" fn(*const raw::SessionConfig, *mut raw::Error) -> *mut raw::Session,
    session_close: unsafe extern "C" fn(*mut raw::Session),
    node_create: unsafe extern "C" fn(*mut raw::Session, *const c_char, *mut raw::Error) -> *mut raw::Node,
    node_destroy: unsafe extern "C" fn(*mut raw::Node),
    publisher_create: unsafe extern "C" fn(*mut raw::Node, *const raw::EndpointConfig, *mut raw::Error) -> *mut raw::Publisher,
    publisher_destroy: unsafe extern "C" fn(*mut raw::Publisher),
    publish: unsafe extern "C" fn(*mut raw::Publisher, *const u8, usize) -> raw::Status,
    loans: Option<Loans>,
    publisher_matched: unsafe extern "C" fn(*mut raw::Publisher) -> u32,
    publisher_granted: unsafe extern "C" fn(*mut raw::Publisher, *mut raw::Granted),
    publisher_account: unsafe extern "C" fn(*mut raw::Publisher, *const raw::Account),
    subscription_create:
        unsafe extern "C" fn(*mut raw::Node, *const raw::EndpointConfig, *const raw::Sink, *mut raw::Error) -> *mut raw::Subscription,
    subscription_destroy: unsafe extern "C" fn(*mut raw::Subscription),
    subscription_matched: unsafe extern "C" fn(*mut raw::Subscription) -> u32,
    subscription_granted: unsafe extern "C" fn(*mut raw::Subscription, *mut raw::Granted),
    subscription_account: unsafe extern "C" fn(*mut raw::Subscription, *const raw::Account),
}

#[derive(Clone, Copy)]
struct Loans {
    loan: unsafe extern "C" fn(*mut raw::Publisher, usize, *mut *mut u8) -> raw::Status,
    commit: unsafe extern "C" fn(*mut raw::Publisher, *mut u8, usize) -> raw::Status,
}

/// A middleware behind the C header.
pub struct CMiddleware {
    table: Table,
}

impl CMiddleware {
    /// Checks `table` and takes a copy of it.
    ///
    /// # Errors
    /// `Invalid` for another ABI version, another size, or a missing function; both sides of the difference are named.
    ///
    /// # Safety
    /// `table` is null or points to a `rmwbench_middleware` whose first two fields tell its version and size truly, and whose functions
    /// keep the header's promises for as long as the process lives.
    pub unsafe fn load(table: *const raw::Middleware) -> Result<CMiddleware, Error> {
        let bad = |message: String| Error::invalid("rmwbench_middleware", message);
        if table.is_null() {
            return Err(bad("the table is NULL".into()));
        }
        // Only the first two fields may be read before they have been found right: another version may be shorter.
        let (version, bytes) = ((*table).abi_version, (*table).struct_bytes as usize);
        if version != raw::ABI_VERSION {
            return Err(bad(format!(
                "ABI version: expected {}, found {version}; rebuild it with this rmwbench_worker.h",
                raw::ABI_VERSION
            )));
        }
        let expected = size_of::<raw::Middleware>();
        if bytes != expected {
            return Err(bad(format!(
                "size of the table: expected {expected} bytes, found {bytes}; rebuild it with this rmwbench_worker.h"
            )));
        }
        let t = *table;
        macro_rules! present {
            ($name:ident) => {
                t.$name.ok_or_else(|| bad(format!("function {} is NULL", stringify!($name))))?
            };
        }
        let loans = match (t.loan, t.commit) {
            (Some(loan), Some(commit)) => Some(Loans { loan, commit }),
            (None, None) => None,
            _ => return Err(bad("loan and commit: expected both or neither".into())),
        };
        let table = Table {
            describe: present!(describe),
            session_open: present!(session_open),
            session_close: present!(session_close),
            node_create: present!(node_create),
            node_destroy: present!(node_destroy),
            publisher_create: present!(publisher_create),
            publisher_destroy: present!(publisher_destroy),
            publish: present!(publish),
            loans,
            publisher_matched: present!(publisher_matched),
            publisher_granted: present!(publisher_granted),
            publisher_account: present!(publisher_account),
            subscription_create: present!(subscription_create),
            subscription_destroy: present!(subscription_destroy),
            subscription_matched: present!(subscription_matched),
            subscription_granted: present!(subscription_granted),
            subscription_account: present!(subscription_account),
        };
        Ok(CMiddleware { table })
    }
}

impl Middleware for CMiddleware {
    fn describe(&self) -> Description {
        // SAFETY: the header promises a description that lives as long as the process, with arrays of the lengths it tells.
        unsafe {
            let d = &*(self.table.describe)();
            let listed: Vec<(String, String)> =
                slice(d.capabilities, d.capability_count).iter().map(|p| (text(p.name), text(p.value))).collect();
            let listed: Vec<(&str, &str)> = listed.iter().map(|(name, answer)| (name.as_str(), answer.as_str())).collect();
            Description {
                middleware: text(d.middleware),
                layer: text(d.layer),
                version: text(d.version),
                release_date: text(d.release_date),
                build: slice(d.build, d.build_count).iter().map(|p| (text(p.name), Value::String(text(p.value)))).collect(),
                capabilities: capabilities(&listed),
                profiles: slice(d.profiles, d.profile_count)
                    .iter()
                    .map(|p| Profile { name: text(p.name), format: text(p.format), text: text(p.text), summary: text(p.summary) })
                    .collect(),
            }
        }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        let profile = [&config.profile.name, &config.profile.format, &config.profile.text, &config.profile.summary];
        let profile = profile.into_iter().map(|t| c_text("profile", t)).collect::<Result<Vec<_>, _>>()?;
        let options: Vec<(CString, CString)> = config
            .options
            .iter()
            .map(|(key, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                Ok((c_text("options", key)?, c_text("options", &value)?))
            })
            .collect::<Result<_, Error>>()?;
        let pairs: Vec<raw::Pair> = options.iter().map(|(key, value)| raw::Pair { name: key.as_ptr(), value: value.as_ptr() }).collect();
        let raw = raw::SessionConfig {
            profile: raw::Profile {
                name: profile[0].as_ptr(),
                format: profile[1].as_ptr(),
                text: profile[2].as_ptr(),
                summary: profile[3].as_ptr(),
            },
            options: pairs.as_ptr(),
            option_count: pairs.len(),
            domain_id: config.domain_id,
            trial_nonce: config.trial_nonce,
        };
        // SAFETY: everything passed lives until the call returns.
        let session = created("session", |error| unsafe { (self.table.session_open)(&raw, error) })?;
        Ok(Box::new(CSession(Arc::new(OpenSession { table: self.table, session }))))
    }
}

/// Closes when the last node, and hence the last endpoint, is gone: the order that the header promises does not hang on the caller's.
struct OpenSession {
    table: Table,
    session: NonNull<raw::Session>,
}

// SAFETY: the header allows calls from any thread; calls on one object do not overlap, because they take the object's unique owner.
unsafe impl Send for OpenSession {}
unsafe impl Sync for OpenSession {}

impl Drop for OpenSession {
    fn drop(&mut self) {
        // SAFETY: created by `session_open`, closed once, here.
        unsafe { (self.table.session_close)(self.session.as_ptr()) }
    }
}

struct CSession(Arc<OpenSession>);

impl Session for CSession {
    fn node(&mut self, name: &str) -> Result<Box<dyn Node>, Error> {
        let c_name = c_text("node", name)?;
        // SAFETY: the session is open and the name outlives the call.
        let node = created(name, |error| unsafe { (self.0.table.node_create)(self.0.session.as_ptr(), c_name.as_ptr(), error) })?;
        Ok(Box::new(CNode(Arc::new(OpenNode { session: self.0.clone(), node }))))
    }
}

struct OpenNode {
    session: Arc<OpenSession>,
    node: NonNull<raw::Node>,
}

// SAFETY: as for OpenSession.
unsafe impl Send for OpenNode {}
unsafe impl Sync for OpenNode {}

impl Drop for OpenNode {
    fn drop(&mut self) {
        // SAFETY: created by `node_create`, destroyed once; its session is still open.
        unsafe { (self.session.table.node_destroy)(self.node.as_ptr()) }
    }
}

struct CNode(Arc<OpenNode>);

impl Node for CNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        let table = self.0.session.table;
        let texts = EndpointTexts::of(config)?;
        let raw = texts.raw(config);
        let object = format!("endpoint {}", config.endpoint);
        // SAFETY: the node exists; `raw` and what it points to outlive the call.
        let publisher = created(&object, |error| unsafe { (table.publisher_create)(self.0.node.as_ptr(), &raw, error) })?;
        Ok(Box::new(CPublisher { table, publisher, _node: self.0.clone() }))
    }

    fn subscription(&mut self, config: &EndpointConfig, sink: Arc<dyn Sink>) -> Result<Box<dyn Subscription>, Error> {
        let table = self.0.session.table;
        let texts = EndpointTexts::of(config)?;
        let raw = texts.raw(config);
        let object = format!("endpoint {}", config.endpoint);
        // A pointer to a `dyn` has two words and C passes one: hence the box, whose address does not change.
        let sink = Box::new(sink);
        let raw_sink = raw::Sink { context: (&raw const *sink).cast_mut().cast(), deliver };
        // SAFETY: as above; the sink lives in the subscription until it was destroyed.
        let subscription = created(&object, |error| unsafe { (table.subscription_create)(self.0.node.as_ptr(), &raw, &raw_sink, error) })?;
        Ok(Box::new(CSubscription { table, subscription, _sink: sink, _node: self.0.clone() }))
    }
}

/// The C strings of an endpoint's configuration.
struct EndpointTexts {
    topic: CString,
    dds_topic: CString,
    name: CString,
    ros_type: CString,
    dds_type: CString,
    content_filter: Option<CString>,
    instance_key: Option<CString>,
}

impl EndpointTexts {
    fn of(config: &EndpointConfig) -> Result<Self, Error> {
        let object = format!("endpoint {}", config.endpoint);
        let c = |text: &str| c_text(&object, text);
        Ok(EndpointTexts {
            topic: c(&config.topic)?,
            dds_topic: c(&dds_topic_name(&config.topic))?,
            name: c(&config.message_type.name)?,
            ros_type: c(&config.message_type.ros_type)?,
            dds_type: c(&config.message_type.dds_type_name())?,
            content_filter: config.qos.content_filter.as_deref().map(c).transpose()?,
            instance_key: config.qos.instance_key.as_deref().map(c).transpose()?,
        })
    }

    fn raw(&self, config: &EndpointConfig) -> raw::EndpointConfig {
        let t = &config.message_type;
        let optional = |text: &Option<CString>| text.as_ref().map_or(null(), |t| t.as_ptr());
        raw::EndpointConfig {
            endpoint: config.endpoint,
            topic: self.topic.as_ptr(),
            dds_topic: self.dds_topic.as_ptr(),
            message_type: raw::MessageType {
                name: self.name.as_ptr(),
                ros_type: self.ros_type.as_ptr(),
                dds_type: self.dds_type.as_ptr(),
                payload_bytes: t.payload_bytes,
                cdr_prefix: t.cdr_prefix.as_ptr(),
                cdr_prefix_bytes: t.cdr_prefix.len(),
                cdr_suffix: t.cdr_suffix.as_ptr(),
                cdr_suffix_bytes: t.cdr_suffix.len(),
            },
            qos: raw::Qos {
                content_filter: optional(&self.content_filter),
                instance_key: optional(&self.instance_key),
                ..raw_qos(&config.qos)
            },
            loan: c_int::from(config.loan),
            publish_mode: raw_mode(config.publish_mode),
            wait: raw_wait(config.wait),
        }
    }
}

struct CPublisher {
    table: Table,
    publisher: NonNull<raw::Publisher>,
    _node: Arc<OpenNode>,
}

// SAFETY: as for OpenSession.
unsafe impl Send for CPublisher {}

impl Drop for CPublisher {
    fn drop(&mut self) {
        // SAFETY: created by `publisher_create`, destroyed once; its node still exists.
        unsafe { (self.table.publisher_destroy)(self.publisher.as_ptr()) }
    }
}

impl Publisher for CPublisher {
    #[inline]
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        // SAFETY: the payload is valid for the call, and an empty slice's pointer is not null.
        published(unsafe { (self.table.publish)(self.publisher.as_ptr(), payload.as_ptr(), payload.len()) })
    }

    fn publish_loaned(&mut self, bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<(), PublishError> {
        let Some(loans) = self.table.loans else { return Err(PublishError::Unsupported) };
        let mut memory = null_mut();
        // SAFETY: `loan` answers with memory of `bytes` that is ours until `commit`.
        unsafe {
            published((loans.loan)(self.publisher.as_ptr(), bytes, &mut memory))?;
            if memory.is_null() {
                return Err(PublishError::Failed);
            }
            fill(std::slice::from_raw_parts_mut(memory, bytes));
            published((loans.commit)(self.publisher.as_ptr(), memory, bytes))
        }
    }
}

impl Endpoint for CPublisher {
    fn matched(&self) -> u32 {
        // SAFETY: the publisher exists.
        unsafe { (self.table.publisher_matched)(self.publisher.as_ptr()) }
    }

    fn granted(&self) -> Granted {
        granted(|raw| unsafe { (self.table.publisher_granted)(self.publisher.as_ptr(), raw) })
    }

    fn account(&self) -> Account {
        account(|raw| unsafe { (self.table.publisher_account)(self.publisher.as_ptr(), raw) })
    }
}

struct CSubscription {
    table: Table,
    subscription: NonNull<raw::Subscription>,
    _sink: Box<Arc<dyn Sink>>,
    _node: Arc<OpenNode>,
}

// SAFETY: as for OpenSession.
unsafe impl Send for CSubscription {}

impl Drop for CSubscription {
    fn drop(&mut self) {
        // SAFETY: created by `subscription_create`, destroyed once; the sink is dropped after this returned.
        unsafe { (self.table.subscription_destroy)(self.subscription.as_ptr()) }
    }
}

impl Subscription for CSubscription {}

impl Endpoint for CSubscription {
    fn matched(&self) -> u32 {
        // SAFETY: the subscription exists.
        unsafe { (self.table.subscription_matched)(self.subscription.as_ptr()) }
    }

    fn granted(&self) -> Granted {
        granted(|raw| unsafe { (self.table.subscription_granted)(self.subscription.as_ptr(), raw) })
    }

    fn account(&self) -> Account {
        account(|raw| unsafe { (self.table.subscription_account)(self.subscription.as_ptr(), raw) })
    }
}

unsafe extern "C" fn deliver(context: *mut c_void, delivery: *const raw::Delivery) {
    // SAFETY: the context is the box of `subscription`, which outlives every delivery; the payload is valid for this call.
    let (sink, delivery) = unsafe { (&*context.cast::<Arc<dyn Sink>>(), &*delivery) };
    sink.deliver(&Delivery {
        notified_ns: delivery.notified_ns,
        taken_ns: delivery.taken_ns,
        payload: unsafe { slice(delivery.payload, delivery.bytes) },
        zero_copy: delivery.zero_copy != 0,
    });
}

#[inline]
fn published(status: raw::Status) -> Result<(), PublishError> {
    match status {
        raw::OK => Ok(()),
        raw::FULL => Err(PublishError::Full),
        raw::TIMEOUT => Err(PublishError::Timeout),
        raw::UNSUPPORTED => Err(PublishError::Unsupported),
        _ => Err(PublishError::Failed),
    }
}

/// Calls a function that creates `object`, and turns NULL into the error that it filled.
fn created<T>(object: &str, create: impl FnOnce(*mut raw::Error) -> *mut T) -> Result<NonNull<T>, Error> {
    let mut error = raw::Error { kind: -1, object: [0; 128], message: [0; 1920] };
    NonNull::new(create(&mut error)).ok_or_else(|| {
        let words = |buffer: &[c_char]| {
            let bytes: Vec<u8> = buffer.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let kind = match error.kind {
            0 => ErrorKind::Unsupported,
            1 => ErrorKind::Invalid,
            _ => ErrorKind::Failed,
        };
        let (mut named, mut message) = (words(&error.object), words(&error.message));
        if named.is_empty() {
            named = object.into();
        }
        if message.is_empty() {
            message = "it could not be created, and the middleware gave no reason".into();
        }
        Error { kind, object: named, message }
    })
}

fn granted(fill: impl FnOnce(*mut raw::Granted)) -> Granted {
    unsafe extern "C" fn note(context: *mut c_void, words: *const c_char) {
        (*context.cast::<Vec<String>>()).push(text(words));
    }
    let mut notes: Vec<String> = Vec::new();
    let mut raw = raw::Granted { qos: raw_qos(&Qos::default()), publish_mode: 0, wait: 0, context: (&raw mut notes).cast(), note };
    fill(&mut raw);
    let qos = Qos {
        reliability: if raw.qos.reliability == 0 { Reliability::Reliable } else { Reliability::BestEffort },
        durability: if raw.qos.durability == 0 { Durability::Volatile } else { Durability::TransientLocal },
        history: if raw.qos.history == 0 { History::KeepLast } else { History::KeepAll },
        depth: raw.qos.depth,
        content_filter: None,
        instance_key: None,
    };
    let publish_mode = match raw.publish_mode {
        1 => PublishMode::Sync,
        2 => PublishMode::Async,
        _ => PublishMode::Default,
    };
    let wait = match raw.wait {
        1 => Wait::Poll,
        2 => Wait::Callback,
        _ => Wait::Block,
    };
    Granted { qos, publish_mode, wait, notes }
}

fn account(report: impl FnOnce(*const raw::Account)) -> Account {
    unsafe extern "C" fn reader_drops(context: *mut c_void, messages: u64) {
        (*context.cast::<Account>()).reader_drops = Some(messages);
    }
    unsafe extern "C" fn counter(context: *mut c_void, name: *const c_char, value: i64) {
        (*context.cast::<Account>()).counters.insert(text(name), value);
    }
    unsafe extern "C" fn evidence(context: *mut c_void, path: *const c_char, messages: u64, note: *const c_char) {
        (*context.cast::<Account>()).evidence.push(Evidence { path: text(path), messages, note: text(note) });
    }
    let mut account = Account { reader_drops: None, counters: BTreeMap::new(), evidence: Vec::new() };
    report(&raw::Account { context: (&raw mut account).cast(), reader_drops, counter, evidence });
    account
}

fn raw_qos(qos: &Qos) -> raw::Qos {
    raw::Qos {
        reliability: c_int::from(qos.reliability == Reliability::BestEffort),
        durability: c_int::from(qos.durability == Durability::TransientLocal),
        history: c_int::from(qos.history == History::KeepAll),
        depth: qos.depth,
        content_filter: null(),
        instance_key: null(),
    }
}

fn raw_mode(mode: PublishMode) -> c_int {
    match mode {
        PublishMode::Default => 0,
        PublishMode::Sync => 1,
        PublishMode::Async => 2,
    }
}

fn raw_wait(wait: Wait) -> c_int {
    match wait {
        Wait::Block => 0,
        Wait::Poll => 1,
        Wait::Callback => 2,
    }
}

fn c_text(object: &str, text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::invalid(object, format!("a NUL character in {:?}", text.chars().take(40).collect::<String>())))
}

/// An owned copy; empty for NULL.
fn text(words: *const c_char) -> String {
    if words.is_null() {
        return String::new();
    }
    // SAFETY: the header promises text that ends with a NUL.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

/// # Safety
/// `start` points to `length` elements that live as long as the result is used, unless `length` is 0.
unsafe fn slice<'a, T>(start: *const T, length: usize) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    std::slice::from_raw_parts(start, length)
}

#[no_mangle]
extern "C" fn rmwbench_now_ns() -> i64 {
    crate::clock::now_ns()
}

/// A worker's `main` for programs whose own `main` is C. The arguments are read from the process itself, which on Linux holds also
/// there; they stand in the signature because a C programmer looks for them.
///
/// # Safety
/// As for [`CMiddleware::load`].
#[no_mangle]
unsafe extern "C" fn rmwbench_worker_main(middleware: *const raw::Middleware, _argc: c_int, _argv: *mut *mut c_char) -> c_int {
    match CMiddleware::load(middleware) {
        Ok(middleware) if crate::worker::main(&middleware) == ExitCode::SUCCESS => 0,
        Ok(_) => 2,
        Err(error) => {
            eprintln!("{error}");
            2
        }
    }
}

#[cfg(test)]
mod tests;
