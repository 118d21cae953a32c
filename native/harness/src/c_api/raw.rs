//! `rmwbench_worker.h` as Rust sees it: the same names, the same order, nothing else. The header
//! documents every field.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

pub const ABI_VERSION: u32 = 4;

pub enum Session {}
pub enum Node {}
pub enum Publisher {}
pub enum Subscription {}
pub enum Client {}
pub enum Service {}
pub enum Daemon {}

#[repr(C)]
pub struct Error {
    pub kind: i32,
    pub object: [c_char; 128],
    pub message: [c_char; 1920],
}

/// `rmwbench_status`, as an integer: a value that the header does not name must not be undefined
/// behaviour here.
pub type Status = c_int;
pub const OK: Status = 0;
pub const FULL: Status = 1;
pub const TIMEOUT: Status = 2;
pub const UNSUPPORTED: Status = 3;

#[repr(C)]
pub struct Pair {
    pub name: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
pub struct Profile {
    pub name: *const c_char,
    pub format: *const c_char,
    pub text: *const c_char,
    pub summary: *const c_char,
}

#[repr(C)]
pub struct Description {
    pub middleware: *const c_char,
    pub layer: *const c_char,
    pub version: *const c_char,
    pub release_date: *const c_char,
    pub build: *const Pair,
    pub build_count: usize,
    pub capabilities: *const Pair,
    pub capability_count: usize,
    pub profiles: *const Profile,
    pub profile_count: usize,
    pub modes: *const Pair,
    pub mode_count: usize,
}

#[repr(C)]
pub struct SessionConfig {
    pub profile: Profile,
    pub options: *const Pair,
    pub option_count: usize,
    pub domain_id: u32,
    pub trial_nonce: u64,
    pub modes: *const Pair,
    pub mode_count: usize,
}

#[repr(C)]
pub struct Qos {
    pub reliability: i32,
    pub durability: i32,
    pub history: i32,
    pub depth: u32,
    pub content_filter: *const c_char,
    pub instance_key: *const c_char,
}

#[repr(C)]
pub struct MessageType {
    pub name: *const c_char,
    pub ros_type: *const c_char,
    pub dds_type: *const c_char,
    pub payload_bytes: u32,
    pub cdr_prefix: *const u8,
    pub cdr_prefix_bytes: usize,
    pub cdr_suffix: *const u8,
    pub cdr_suffix_bytes: usize,
}

#[repr(C)]
pub struct EndpointConfig {
    pub endpoint: u32,
    pub topic: *const c_char,
    pub dds_topic: *const c_char,
    pub message_type: MessageType,
    pub qos: Qos,
    pub loan: i32,
    pub publish_mode: i32,
    pub wait: i32,
    pub reply_type: *const MessageType,
    pub dds_reply_topic: *const c_char,
    pub take: i32,
}

#[repr(C)]
pub struct Delivery {
    pub notified_ns: i64,
    pub taken_ns: i64,
    pub payload: *const u8,
    pub bytes: usize,
    pub zero_copy: i32,
    pub lossy: i32,
}

#[repr(C)]
pub struct Sink {
    pub context: *mut c_void,
    pub deliver: unsafe extern "C" fn(context: *mut c_void, delivery: *const Delivery),
    pub publish_may_wait: i32,
}

#[repr(C)]
pub struct Reply {
    pub context: *mut c_void,
    pub send:
        unsafe extern "C" fn(context: *mut c_void, payload: *const u8, bytes: usize) -> Status,
}

#[repr(C)]
pub struct Handler {
    pub context: *mut c_void,
    pub handle:
        unsafe extern "C" fn(context: *mut c_void, request: *const Delivery, reply: *const Reply),
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Source {
    pub context: *mut c_void,
    pub take: unsafe extern "C" fn(context: *mut c_void, notified_ns: i64) -> i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct WaitSet {
    pub context: *mut c_void,
    pub attach: unsafe extern "C" fn(context: *mut c_void, source: *mut c_void, token: usize),
    pub detach: unsafe extern "C" fn(context: *mut c_void, source: *mut c_void, token: usize),
    pub wait: unsafe extern "C" fn(
        context: *mut c_void,
        block: i32,
        ready: *mut usize,
        room: usize,
    ) -> usize,
    pub wake: unsafe extern "C" fn(context: *mut c_void),
}

#[repr(C)]
pub struct Granted {
    pub qos: Qos,
    pub publish_mode: i32,
    pub wait: i32,
    pub context: *mut c_void,
    pub note: unsafe extern "C" fn(context: *mut c_void, text: *const c_char),
    pub take: i32,
    pub when_full: i32,
}

#[repr(C)]
pub struct Account {
    pub context: *mut c_void,
    pub reader_drops: unsafe extern "C" fn(context: *mut c_void, messages: u64),
    pub counter: unsafe extern "C" fn(context: *mut c_void, name: *const c_char, value: i64),
    pub evidence: unsafe extern "C" fn(
        context: *mut c_void,
        path: *const c_char,
        messages: u64,
        note: *const c_char,
    ),
}

#[repr(C)]
pub struct Configuration {
    pub context: *mut c_void,
    pub tell:
        unsafe extern "C" fn(context: *mut c_void, format: *const c_char, text: *const c_char),
}

#[repr(C)]
pub struct OneHost {
    pub reason: *const c_char,
    pub unless: *const *const c_char,
}

#[repr(C)]
pub struct SharedHost {
    pub forced: *const c_char,
    pub without: *const Pair,
    pub without_count: usize,
}

#[repr(C)]
pub struct SharedMemory {
    pub process_bytes: u64,
    pub histories: i32,
}

#[repr(C)]
pub struct ModeDaemons {
    pub mode: *const c_char,
    pub level: *const c_char,
    pub daemons: *const *const c_char,
}

pub type Create<Child> =
    unsafe extern "C" fn(*mut Node, *const EndpointConfig, *mut Error) -> *mut Child;
pub type CreateWith<Callback, Child> = unsafe extern "C" fn(
    *mut Node,
    *const EndpointConfig,
    *const Callback,
    *mut Error,
) -> *mut Child;
pub type Destroy<T> = unsafe extern "C" fn(*mut T);
pub type Matched<T> = unsafe extern "C" fn(*mut T) -> u32;
pub type TellGranted<T> = unsafe extern "C" fn(*mut T, *mut Granted);
pub type TellAccount<T> = unsafe extern "C" fn(*mut T, *const Account);
pub type Send<T> = unsafe extern "C" fn(*mut T, *const u8, usize) -> Status;

/// Every pointer is an `Option`: a table that leaves one out is refused, not called.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Middleware {
    pub abi_version: u32,
    pub struct_bytes: u32,
    pub describe: Option<unsafe extern "C" fn() -> *const Description>,
    pub session_open:
        Option<unsafe extern "C" fn(*const SessionConfig, *mut Error) -> *mut Session>,
    pub session_close: Option<Destroy<Session>>,
    pub node_create:
        Option<unsafe extern "C" fn(*mut Session, *const c_char, *mut Error) -> *mut Node>,
    pub node_destroy: Option<Destroy<Node>>,
    pub publisher_create: Option<Create<Publisher>>,
    pub publisher_destroy: Option<Destroy<Publisher>>,
    pub publish: Option<Send<Publisher>>,
    pub loan: Option<unsafe extern "C" fn(*mut Publisher, usize, *mut *mut u8) -> Status>,
    pub commit: Option<unsafe extern "C" fn(*mut Publisher, *mut u8, usize) -> Status>,
    pub publisher_matched: Option<Matched<Publisher>>,
    pub publisher_granted: Option<TellGranted<Publisher>>,
    pub publisher_account: Option<TellAccount<Publisher>>,
    pub subscription_create: Option<CreateWith<Sink, Subscription>>,
    pub subscription_destroy: Option<Destroy<Subscription>>,
    pub subscription_matched: Option<Matched<Subscription>>,
    pub subscription_granted: Option<TellGranted<Subscription>>,
    pub subscription_account: Option<TellAccount<Subscription>>,
    pub client_create: Option<CreateWith<Sink, Client>>,
    pub client_destroy: Option<Destroy<Client>>,
    pub client_request: Option<Send<Client>>,
    pub client_matched: Option<Matched<Client>>,
    pub client_granted: Option<TellGranted<Client>>,
    pub client_account: Option<TellAccount<Client>>,
    pub service_create: Option<CreateWith<Handler, Service>>,
    pub service_destroy: Option<Destroy<Service>>,
    pub service_matched: Option<Matched<Service>>,
    pub service_granted: Option<TellGranted<Service>>,
    pub service_account: Option<TellAccount<Service>>,
    pub session_configuration: Option<unsafe extern "C" fn(*mut Session, *const Configuration)>,
    pub profile_forced: Option<unsafe extern "C" fn(*const c_char) -> *const c_char>,
    pub profile_daemons: Option<unsafe extern "C" fn(*const c_char) -> *const *const c_char>,
    pub daemon_open: Option<
        unsafe extern "C" fn(*const c_char, *const SessionConfig, *mut Error) -> *mut Daemon,
    >,
    pub daemon_close: Option<Destroy<Daemon>>,
    pub publisher_message: Option<unsafe extern "C" fn(*mut Publisher, usize) -> *mut u8>,
    pub profile_one_host: Option<unsafe extern "C" fn(*const c_char) -> *const OneHost>,
    pub shared_host: Option<unsafe extern "C" fn() -> *const SharedHost>,
    pub profile_shared_memory: Option<unsafe extern "C" fn(*const c_char) -> *const SharedMemory>,
    pub mode_daemons: Option<unsafe extern "C" fn() -> *const ModeDaemons>,
    pub daemons_each_host: Option<unsafe extern "C" fn() -> *const *const c_char>,
    pub client_message: Option<unsafe extern "C" fn(*mut Client, usize) -> *mut u8>,
    pub reply_message: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut u8>,
}

/// `struct_bytes` of the shortest table of this ABI version; functions that came later are NULL in
/// it.
pub const LEAST_STRUCT_BYTES: usize = offset_of!(Middleware, publisher_message);
