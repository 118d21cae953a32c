//! The functions of the shim (`shim/iceoryx.cpp`).

use std::ffi::{c_char, c_void};

pub enum Publisher {}
pub enum Origin {}
pub enum WaitSet {}
pub enum Listener {}
pub enum Discovery {}

extern "C" {
    pub fn rmwbench_runtime(name: *const c_char);

    pub fn rmwbench_publisher_new(
        service: *const c_char,
        instance: *const c_char,
        event: *const c_char,
        history: u64,
        block: bool,
    ) -> *mut Publisher;
    pub fn rmwbench_publisher_delete(publisher: *mut Publisher);
    pub fn rmwbench_publisher_loan(publisher: *mut Publisher, bytes: u32) -> *mut u8;
    pub fn rmwbench_publisher_send(publisher: *mut Publisher, payload: *mut u8);
    pub fn rmwbench_publisher_matched(publisher: *mut Publisher) -> u32;

    pub fn rmwbench_subscriber_new(
        service: *const c_char,
        instance: *const c_char,
        event: *const c_char,
        queue: u64,
        history: u64,
        block: bool,
    ) -> *mut Origin;
    pub fn rmwbench_client_new(
        service: *const c_char,
        instance: *const c_char,
        event: *const c_char,
        queue: u64,
        block: bool,
    ) -> *mut Origin;
    pub fn rmwbench_server_new(
        service: *const c_char,
        instance: *const c_char,
        event: *const c_char,
        queue: u64,
        block: bool,
    ) -> *mut Origin;
    pub fn rmwbench_origin_delete(origin: *mut Origin);
    pub fn rmwbench_origin_take(origin: *mut Origin, bytes: *mut usize) -> *const u8;
    pub fn rmwbench_origin_release(origin: *mut Origin, payload: *const u8);
    pub fn rmwbench_origin_missed(origin: *mut Origin) -> bool;
    pub fn rmwbench_origin_connected(origin: *mut Origin) -> bool;
    pub fn rmwbench_client_loan(origin: *mut Origin, bytes: u32) -> *mut u8;
    pub fn rmwbench_client_send(origin: *mut Origin, request: *mut u8) -> bool;
    pub fn rmwbench_server_reply(
        origin: *mut Origin,
        request: *const u8,
        reply: *const u8,
        bytes: u32,
    ) -> i32;

    pub fn rmwbench_wait_set_new() -> *mut WaitSet;
    pub fn rmwbench_wait_set_delete(set: *mut WaitSet);
    pub fn rmwbench_wait_set_wake(set: *mut WaitSet);
    pub fn rmwbench_wait_set_attach(set: *mut WaitSet, origin: *mut Origin, id: u64) -> bool;
    pub fn rmwbench_wait_set_detach(set: *mut WaitSet, origin: *mut Origin);
    pub fn rmwbench_wait_set_wait(set: *mut WaitSet, ids: *mut u64, max: usize) -> usize;

    pub fn rmwbench_listener_new() -> *mut Listener;
    pub fn rmwbench_listener_delete(listener: *mut Listener);
    pub fn rmwbench_listener_attach(
        listener: *mut Listener,
        origin: *mut Origin,
        arrived: unsafe extern "C" fn(*mut c_void),
        context: *mut c_void,
    ) -> bool;
    pub fn rmwbench_listener_detach(listener: *mut Listener, origin: *mut Origin);

    pub fn rmwbench_discovery_new() -> *mut Discovery;
    pub fn rmwbench_discovery_delete(discovery: *mut Discovery);
    pub fn rmwbench_discovery_count(
        discovery: *mut Discovery,
        service: *const c_char,
        instance: *const c_char,
    ) -> u32;
    pub fn rmwbench_discovery_services(
        discovery: *mut Discovery,
        service: *const c_char,
        instance: *const c_char,
        event: *const c_char,
    ) -> u32;

    pub fn rmwbench_limit_queue() -> u32;
    pub fn rmwbench_limit_history() -> u32;
    pub fn rmwbench_limit_requests() -> u32;
    pub fn rmwbench_limit_responses() -> u32;
    pub fn rmwbench_limit_waiting() -> u32;
    pub fn rmwbench_limit_name() -> u32;
}
