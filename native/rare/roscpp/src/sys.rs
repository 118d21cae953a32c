//! The functions of the shim (`shim/roscpp.cpp`).

use std::ffi::{c_char, c_int, c_void, CStr};

use rmwbench_harness::c_api::raw;
use rmwbench_harness::middleware::Error;

pub enum Queue {}
pub enum Publisher {}
pub enum Subscriber {}
pub enum Server {}
pub enum Client {}

#[repr(C)]
pub struct Message {
    pub data: *const u8,
    pub bytes: usize,
    pub notified_ns: i64,
    pub taken_ns: i64,
    pub path: i32,
}

pub const SERIALISED_WITHIN: i32 = 1;
pub const VERY_OBJECT: i32 = 2;

impl Message {
    pub const NONE: Message =
        Message { data: std::ptr::null(), bytes: 0, notified_ns: 0, taken_ns: 0, path: 0 };

    /// # Safety
    /// The message must be one that the shim has just passed on.
    pub unsafe fn payload(&self) -> &[u8] {
        match self.bytes {
            0 => &[], // a vector without elements points nowhere
            // SAFETY: this many bytes, as the caller promises.
            bytes => unsafe { std::slice::from_raw_parts(self.data, bytes) },
        }
    }
}

/// The object that `make` made, or why roscpp refused it.
pub fn create<T>(
    object: impl Into<String>,
    make: impl FnOnce(*mut raw::Error) -> *mut T,
) -> Result<*mut T, Error> {
    let mut error = raw::Error { kind: 0, object: [0; 128], message: [0; 1920] };
    let pointer = make(&raw mut error);
    if !pointer.is_null() {
        return Ok(pointer);
    }
    // SAFETY: the shim writes a NUL after every text.
    let words = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    Err(Error::failed(object.into(), words.to_string_lossy()))
}

extern "C" {
    pub fn rmwbench_ros_start(name: *const c_char, master: *const c_char, rosout: bool) -> bool;

    pub fn rmwbench_queue_new(spinning: bool, error: *mut raw::Error) -> *mut Queue;
    pub fn rmwbench_queue_delete(queue: *mut Queue);
    pub fn rmwbench_queue_call(queue: *mut Queue, timeout_s: f64);

    pub fn rmwbench_publisher_new(
        topic: *const c_char,
        queue_size: u32,
        latch: bool,
        error: *mut raw::Error,
    ) -> *mut Publisher;
    pub fn rmwbench_publisher_delete(publisher: *mut Publisher);
    pub fn rmwbench_publish(publisher: *mut Publisher, data: *const u8, size: u32) -> c_int;
    pub fn rmwbench_loan(publisher: *mut Publisher, size: u32, place: *mut *mut u8) -> bool;
    pub fn rmwbench_publish_loan(publisher: *mut Publisher) -> c_int;
    pub fn rmwbench_publisher_matched(publisher: *mut Publisher) -> u32;

    pub fn rmwbench_subscriber_new(
        topic: *const c_char,
        queue_size: u32,
        udp: bool,
        nodelay: bool,
        queue: *mut Queue,
        deliver: unsafe extern "C" fn(*mut c_void, *const Message),
        context: *mut c_void,
        error: *mut raw::Error,
    ) -> *mut Subscriber;
    pub fn rmwbench_subscriber_delete(subscriber: *mut Subscriber);
    pub fn rmwbench_subscriber_matched(subscriber: *mut Subscriber) -> u32;

    pub fn rmwbench_server_new(
        service: *const c_char,
        queue: *mut Queue,
        handle: unsafe extern "C" fn(*mut c_void, *const Message, *mut c_void),
        context: *mut c_void,
        error: *mut raw::Error,
    ) -> *mut Server;
    pub fn rmwbench_server_delete(server: *mut Server);
    pub fn rmwbench_response(response: *mut c_void, data: *const u8, size: usize);

    pub fn rmwbench_client_new(
        service: *const c_char,
        persistent: bool,
        error: *mut raw::Error,
    ) -> *mut Client;
    pub fn rmwbench_client_delete(client: *mut Client);
    pub fn rmwbench_client_call(
        client: *mut Client,
        data: *const u8,
        size: usize,
        message: *mut Message,
    ) -> bool;
    pub fn rmwbench_service_exists(service: *const c_char) -> bool;

    pub fn rmwbench_param_set(name: *const c_char);
    pub fn rmwbench_param_delete(name: *const c_char);
    pub fn rmwbench_param_children(name: *const c_char) -> u32;
}
