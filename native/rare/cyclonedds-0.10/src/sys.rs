//! The C functions of the shim, which `shim/blob.h` documents, and those of Cyclone DDS that the
//! other worker does not call.

use std::ffi::{c_char, c_int, c_void};

use rmwbench_cyclone::sys::{Handle, Part, QosHandle};

#[repr(C)]
pub struct View {
    pub bytes: *const u8,
    pub size: usize,
    pub shared: bool,
}

pub const LIVELINESS_AUTOMATIC: c_int = 0;

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

    pub fn dds_loan_sample(writer: Handle, sample: *mut *mut c_void) -> i32;
    pub fn dds_qset_liveliness(qos: *mut QosHandle, kind: c_int, lease_ns: i64);
    pub fn dds_qset_deadline(qos: *mut QosHandle, deadline_ns: i64);
}
