//! `rmwbench_worker.h` as Rust sees it: the same names, the same order, nothing else. The header documents every field.

use std::ffi::{c_char, c_int, c_void};

pub const ABI_VERSION: u32 = 1;

pub enum Session {}
pub enum Node {}
pub enum Publisher {}
pub enum Subscription {}

#[repr(C)]
pub struct Error {
    pub kind: i32,
    pub object: [c_char; 128],
    pub message: [c_char; 1920],
}

/// `rmwbench_status`, as an integer: a value that the header does not name must not be undefined behaviour here.
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
}

#[repr(C)]
pub struct SessionConfig {
    pub profile: Profile,
    pub options: *const Pair,
    pub option_count: usize,
    pub domain_id: u32,
    pub trial_nonce: u64,
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
}

#[repr(C)]
pub struct Delivery {
    pub notified_ns: i64,
    pub taken_ns: i64,
    pub payload: *const u8,
    pub bytes: usize,
    pub zero_copy: i32,
}

#[repr(C)]
pub struct Sink {
    pub context: *mut c_void,
    pub deliver: unsafe extern "C" fn(context: *mut c_void, delivery: *const Delivery),
}

#[repr(C)]
pub struct Granted {
    pub qos: Qos,
    pub publish_mode: i32,
    pub wait: i32,
    pub context: *mut c_void,
    pub note: unsafe extern "C" fn(context: *mut c_void, text: *const c_char),
}

#[repr(C)]
pub struct Account {
    pub context: *mut c_void,
    pub reader_drops: unsafe extern "C" fn(context: *mut c_void, messages: u64),
    pub counter: unsafe extern "C" fn(context: *mut c_void, name: *const c_char, value: i64),
    pub evidence: unsafe extern "C" fn(context: *mut c_void, path: *const c_char, messages: u64, note: *const c_char),
}

type Create<Parent, Child> = Option<unsafe extern "C" fn(*mut Parent, *const EndpointConfig, *mut Error) -> *mut Child>;

/// Every pointer is an `Option`: a table that leaves one out is refused, not called.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Middleware {
    pub abi_version: u32,
    pub struct_bytes: u32,
    pub describe: Option<unsafe extern "C" fn() -> *const Description>,
    pub session_open: Option<unsafe extern "C" fn(*const SessionConfig, *mut Error) -> *mut Session>,
    pub session_close: Option<unsafe extern "C" fn(*mut Session)>,
    pub node_create: Option<unsafe extern "C" fn(*mut Session, *const c_char, *mut Error) -> *mut Node>,
    pub node_destroy: Option<unsafe extern "C" fn(*mut Node)>,
    pub publisher_create: Create<Node, Publisher>,
    pub publisher_destroy: Option<unsafe extern "C" fn(*mut Publisher)>,
    pub publish: Option<unsafe extern "C" fn(*mut Publisher, *const u8, usize) -> Status>,
    pub loan: Option<unsafe extern "C" fn(*mut Publisher, usize, *mut *mut u8) -> Status>,
    pub commit: Option<unsafe extern "C" fn(*mut Publisher, *mut u8, usize) -> Status>,
    pub publisher_matched: Option<unsafe extern "C" fn(*mut Publisher) -> u32>,
    pub publisher_granted: Option<unsafe extern "C" fn(*mut Publisher, *mut Granted)>,
    pub publisher_account: Option<unsafe extern "C" fn(*mut Publisher, *const Account)>,
    pub subscription_create: Option<unsafe extern "C" fn(*mut Node, *const EndpointConfig, *const Sink, *mut Error) -> *mut Subscription>,
    pub subscription_destroy: Option<unsafe extern "C" fn(*mut Subscription)>,
    pub subscription_matched: Option<unsafe extern "C" fn(*mut Subscription) -> u32>,
    pub subscription_granted: Option<unsafe extern "C" fn(*mut Subscription, *mut Granted)>,
    pub subscription_account: Option<unsafe extern "C" fn(*mut Subscription, *const Account)>,
}
