//! The C functions of Cyclone DDS 0.10 and of the shim that this worker calls; `shim/blob.h` and
//! `dds/dds.h` document them.

use std::ffi::{c_char, c_void};

pub type Handle = i32;

#[repr(C)]
pub struct Part {
    pub bytes: *const u8,
    pub size: usize,
}

#[repr(C)]
pub struct View {
    pub bytes: *const u8,
    pub size: usize,
    pub shared: bool,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Qos {
    pub reliable: bool,
    pub transient_local: bool,
    pub keep_all: bool,
    pub depth: i32,
}

pub enum QosHandle {}
pub enum Listener {}

/// Any sample, view and instance state.
pub const ANY_STATE: u32 = 127;
pub const TIMEOUT: i32 = -10;
pub const OUT_OF_RESOURCES: i32 = -5;

extern "C" {
    pub fn rmwbench_topic(
        participant: Handle,
        name: *const c_char,
        ty: *const c_char,
        body_bytes: u32,
        of: *mut *const c_void,
    ) -> Handle;
    pub fn rmwbench_write(
        writer: Handle,
        ty: *const c_void,
        parts: *const Part,
        count: usize,
    ) -> i32;
    pub fn rmwbench_take(reader: Handle, message: *mut *mut c_void) -> i32;
    pub fn rmwbench_view_of(message: *const c_void, view: *mut View);
    pub fn rmwbench_release(message: *mut c_void);
    pub fn rmwbench_readers_matched(writer: Handle) -> u32;
    pub fn rmwbench_writers_matched(reader: Handle) -> u32;
    pub fn rmwbench_lost(reader: Handle, lost: *mut u32, rejected: *mut u32);
    pub fn rmwbench_guid(entity: Handle) -> u64;
    pub fn rmwbench_qos_asked(asked: *const Qos) -> *mut QosHandle;
    pub fn rmwbench_qos_granted(entity: Handle, granted: *mut Qos) -> bool;
    pub fn rmwbench_statistics(
        entity: Handle,
        context: *mut c_void,
        counter: unsafe extern "C" fn(*mut c_void, *const c_char, u64),
    );
    pub fn rmwbench_log(line: Option<unsafe extern "C" fn(*const c_char, usize)>);

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
    pub fn dds_create_qos() -> *mut QosHandle;
    pub fn dds_delete_qos(qos: *mut QosHandle);
    pub fn dds_qset_entity_name(qos: *mut QosHandle, name: *const c_char);
    pub fn dds_strretcode(code: i32) -> *const c_char;
    pub fn dds_is_loan_available(entity: Handle) -> bool;
    pub fn dds_is_shared_memory_available(entity: Handle) -> bool;
    pub fn dds_loan_sample(writer: Handle, sample: *mut *mut c_void) -> i32;
    pub fn dds_write(writer: Handle, sample: *const c_void) -> i32;
    pub fn dds_create_listener(argument: *mut c_void) -> *mut Listener;
    pub fn dds_delete_listener(listener: *mut Listener);
    pub fn dds_lset_data_available_arg(
        listener: *mut Listener,
        callback: unsafe extern "C" fn(Handle, *mut c_void),
        argument: *mut c_void,
        reset_on_invoke: bool,
    ) -> i32;
    pub fn dds_create_waitset(participant: Handle) -> Handle;
    pub fn dds_waitset_attach(set: Handle, entity: Handle, argument: isize) -> i32;
    pub fn dds_waitset_detach(set: Handle, entity: Handle) -> i32;
    pub fn dds_waitset_wait(
        set: Handle,
        arguments: *mut isize,
        count: usize,
        timeout_ns: i64,
    ) -> i32;
    pub fn dds_create_guardcondition(participant: Handle) -> Handle;
    pub fn dds_set_guardcondition(condition: Handle, triggered: bool) -> i32;
    pub fn dds_take_guardcondition(condition: Handle, triggered: *mut bool) -> i32;
    pub fn dds_create_readcondition(reader: Handle, mask: u32) -> Handle;
}
