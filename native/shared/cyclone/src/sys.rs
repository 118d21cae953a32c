//! The C functions of Cyclone DDS that are the same in releases 0.10 and 11; `dds/dds.h` documents
//! them. The worker links the library.

use std::ffi::{c_char, c_int, c_void};

pub type Handle = i32;

/// A part of a message: `ddsrt_iovec_t`.
#[repr(C)]
pub struct Part {
    pub bytes: *const u8,
    pub size: usize,
}

impl Part {
    #[inline]
    pub fn of(bytes: &[u8]) -> Part {
        Part { bytes: bytes.as_ptr(), size: bytes.len() }
    }
}

pub enum QosHandle {}
pub enum Listener {}

/// `dds_publication_matched_status_t`, and the one of subscriptions.
#[repr(C)]
#[derive(Default)]
pub struct Matched {
    pub total_count: u32,
    pub total_count_change: i32,
    pub current_count: u32,
    pub current_count_change: i32,
    pub last_handle: u64,
}

/// `dds_sample_lost_status_t`.
#[repr(C)]
#[derive(Default)]
pub struct Lost {
    pub total_count: u32,
    pub total_count_change: i32,
}

/// `dds_sample_rejected_status_t`.
#[repr(C)]
#[derive(Default)]
pub struct Rejected {
    pub total_count: u32,
    pub total_count_change: i32,
    pub last_reason: c_int,
    pub last_handle: u64,
}

/// `dds_log_data_t`.
#[repr(C)]
pub struct LogData {
    pub priority: u32,
    pub domain: u32,
    pub file: *const c_char,
    pub line: u32,
    pub function: *const c_char,
    pub message: *const c_char,
    pub size: usize,
    pub header_size: usize,
}

/// `struct dds_stat_keyvalue`.
#[repr(C)]
pub struct KeyValue {
    pub name: *const c_char,
    pub kind: u32,
    /// A union of a 32-bit and a 64-bit value; `kind` says which it is.
    pub value: u64,
}

/// `struct dds_statistics`; `count` values follow it.
#[repr(C)]
pub struct Statistics {
    pub entity: Handle,
    pub opaque: u64,
    pub time: i64,
    pub count: usize,
    pub values: [KeyValue; 0],
}

/// The mask for any sample, view and instance state.
pub const ANY_STATE: u32 = 127;
pub const OUT_OF_RESOURCES: i32 = -5;
pub const TIMEOUT: i32 = -10;
pub const INFINITE_NS: i64 = i64::MAX;
pub const UNLIMITED: i32 = -1;
/// Values of enumerations.
pub const KEEP_LAST: c_int = 0;
pub const KEEP_ALL: c_int = 1;
pub const BEST_EFFORT: c_int = 0;
pub const RELIABLE: c_int = 1;
pub const VOLATILE: c_int = 0;
pub const TRANSIENT_LOCAL: c_int = 1;
pub const STATISTIC_UINT32: u32 = 0;

pub type LogSink = unsafe extern "C" fn(*mut c_void, *const LogData);
pub type OnData = unsafe extern "C" fn(Handle, *mut c_void);

extern "C" {
    pub fn dds_create_domain(domain: u32, config: *const c_char) -> Handle;
    pub fn dds_create_participant(
        domain: u32,
        qos: *const QosHandle,
        listener: *const Listener,
    ) -> Handle;
    pub fn dds_create_publisher(
        participant: Handle,
        qos: *const QosHandle,
        listener: *const Listener,
    ) -> Handle;
    pub fn dds_create_subscriber(
        participant: Handle,
        qos: *const QosHandle,
        listener: *const Listener,
    ) -> Handle;
    pub fn dds_create_writer(
        parent: Handle,
        topic: Handle,
        qos: *const QosHandle,
        listener: *const Listener,
    ) -> Handle;
    pub fn dds_create_reader(
        parent: Handle,
        topic: Handle,
        qos: *const QosHandle,
        listener: *const Listener,
    ) -> Handle;
    pub fn dds_delete(entity: Handle) -> i32;
    pub fn dds_get_guid(entity: Handle, guid: *mut [u8; 16]) -> i32;
    pub fn dds_strretcode(code: i32) -> *const c_char;
    pub fn dds_set_log_sink(sink: Option<LogSink>, context: *mut c_void);

    pub fn dds_create_qos() -> *mut QosHandle;
    pub fn dds_delete_qos(qos: *mut QosHandle);
    pub fn dds_qset_entity_name(qos: *mut QosHandle, name: *const c_char);
    pub fn dds_qset_history(qos: *mut QosHandle, kind: c_int, depth: i32);
    pub fn dds_qset_reliability(qos: *mut QosHandle, kind: c_int, max_blocking_ns: i64);
    pub fn dds_qset_writer_data_lifecycle(qos: *mut QosHandle, dispose: bool);
    pub fn dds_qset_durability(qos: *mut QosHandle, kind: c_int);
    pub fn dds_qset_durability_service(
        qos: *mut QosHandle,
        cleanup_delay_ns: i64,
        history: c_int,
        depth: i32,
        max_samples: i32,
        max_instances: i32,
        max_samples_per_instance: i32,
    );
    pub fn dds_get_qos(entity: Handle, qos: *mut QosHandle) -> i32;
    pub fn dds_qget_history(qos: *const QosHandle, kind: *mut c_int, depth: *mut i32) -> bool;
    pub fn dds_qget_reliability(
        qos: *const QosHandle,
        kind: *mut c_int,
        max_blocking_ns: *mut i64,
    ) -> bool;
    pub fn dds_qget_durability(qos: *const QosHandle, kind: *mut c_int) -> bool;

    pub fn dds_is_loan_available(entity: Handle) -> bool;
    pub fn dds_is_shared_memory_available(entity: Handle) -> bool;
    pub fn dds_write(writer: Handle, sample: *const c_void) -> i32;

    pub fn dds_get_publication_matched_status(writer: Handle, status: *mut Matched) -> i32;
    pub fn dds_get_subscription_matched_status(reader: Handle, status: *mut Matched) -> i32;
    pub fn dds_get_sample_lost_status(reader: Handle, status: *mut Lost) -> i32;
    pub fn dds_get_sample_rejected_status(reader: Handle, status: *mut Rejected) -> i32;
    pub fn dds_create_statistics(entity: Handle) -> *mut Statistics;
    pub fn dds_refresh_statistics(statistics: *mut Statistics) -> i32;
    pub fn dds_delete_statistics(statistics: *mut Statistics);

    pub fn dds_create_listener(argument: *mut c_void) -> *mut Listener;
    pub fn dds_delete_listener(listener: *mut Listener);
    pub fn dds_lset_data_available_arg(
        listener: *mut Listener,
        callback: OnData,
        argument: *mut c_void,
        reset_on_invoke: bool,
    ) -> i32;
    pub fn dds_create_waitset(participant: Handle) -> Handle;
    pub fn dds_waitset_attach(set: Handle, entity: Handle, token: isize) -> i32;
    pub fn dds_waitset_detach(set: Handle, entity: Handle) -> i32;
    pub fn dds_waitset_wait(
        set: Handle,
        triggered: *mut isize,
        places: usize,
        timeout_ns: i64,
    ) -> i32;
    pub fn dds_create_guardcondition(owner: Handle) -> Handle;
    pub fn dds_set_guardcondition(condition: Handle, triggered: bool) -> i32;
    pub fn dds_take_guardcondition(condition: Handle, triggered: *mut bool) -> i32;
    pub fn dds_create_readcondition(reader: Handle, mask: u32) -> Handle;
}
