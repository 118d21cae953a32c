//! The functions of LCM's C library that the worker calls (`lcm/lcm.h`), and the buffer that the
//! kernel grants to a socket.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::io;
use std::net::UdpSocket;
use std::os::fd::RawFd;
use std::ptr::NonNull;

use rmwbench_harness::middleware::Error;
use rustix::net::sockopt::{set_socket_recv_buffer_size, socket_recv_buffer_size};

#[repr(C)]
pub struct ReceiveBuffer {
    data: *const u8,
    data_size: u32,
    receive_time_us: i64,
    lcm: *mut c_void,
}

impl ReceiveBuffer {
    /// # Safety
    /// This is a buffer that LCM passed to a handler, during that call.
    pub unsafe fn bytes(&self) -> &[u8] {
        if self.data_size == 0 {
            return &[];
        }
        // SAFETY: the buffer has the size that LCM states.
        unsafe { std::slice::from_raw_parts(self.data, self.data_size as usize) }
    }
}

pub type Handler = unsafe extern "C" fn(*const ReceiveBuffer, *const c_char, *mut c_void);

#[link(name = "lcm")]
extern "C" {
    fn lcm_create(url: *const c_char) -> *mut c_void;
    fn lcm_destroy(lcm: *mut c_void);
    fn lcm_get_fileno(lcm: *mut c_void) -> c_int;
    fn lcm_subscribe(
        lcm: *mut c_void,
        channel: *const c_char,
        handler: Handler,
        context: *mut c_void,
    ) -> *mut c_void;
    fn lcm_unsubscribe(lcm: *mut c_void, subscription: *mut c_void) -> c_int;
    fn lcm_subscription_set_queue_capacity(subscription: *mut c_void, messages: c_int) -> c_int;
    fn lcm_publish(
        lcm: *mut c_void,
        channel: *const c_char,
        data: *const c_void,
        bytes: c_uint,
    ) -> c_int;
    fn lcm_handle_timeout(lcm: *mut c_void, milliseconds: c_int) -> c_int;
}

/// An `lcm_t`. Its functions may be called from any thread; `handle` from one.
pub struct Instance(NonNull<c_void>);

// SAFETY: LCM locks the data that threads share.
unsafe impl Send for Instance {}
// SAFETY: as above.
unsafe impl Sync for Instance {}

pub struct Subscription(NonNull<c_void>);

// SAFETY: a handle, which only LCM's instance dereferences.
unsafe impl Send for Subscription {}

impl Instance {
    /// Opens an instance. It sends at once and receives from its first subscription on.
    pub fn open(url: &str) -> Result<Instance, Error> {
        let text = CString::new(url).map_err(|e| Error::invalid(url, e.to_string()))?;
        // SAFETY: a string that outlives the call.
        let lcm = unsafe { lcm_create(text.as_ptr()) };
        let why = || {
            Error::failed(
                url,
                "lcm_create; it needs a route for multicast, such as a default route",
            )
        };
        NonNull::new(lcm).map(Instance).ok_or_else(why)
    }

    /// `capacity` 0: a queue without limit. None: LCM refused.
    ///
    /// # Safety
    /// `context` lives until the subscription has ended and no call of `handle` is under way.
    pub unsafe fn subscribe(
        &self,
        channel: &CStr,
        handler: Handler,
        context: *mut c_void,
        capacity: c_int,
    ) -> Option<Subscription> {
        // SAFETY: promised by the caller.
        let subscription = NonNull::new(unsafe {
            lcm_subscribe(self.0.as_ptr(), channel.as_ptr(), handler, context)
        })?;
        // SAFETY: a subscription of this instance.
        unsafe { lcm_subscription_set_queue_capacity(subscription.as_ptr(), capacity) };
        Some(Subscription(subscription))
    }

    pub fn unsubscribe(&self, subscription: &Subscription) {
        // SAFETY: a subscription of this instance.
        unsafe { lcm_unsubscribe(self.0.as_ptr(), subscription.0.as_ptr()) };
    }

    pub fn publish(&self, channel: &CStr, message: &[u8]) -> Result<(), ()> {
        // SAFETY: this many bytes, which LCM does not keep.
        let status = unsafe {
            lcm_publish(
                self.0.as_ptr(),
                channel.as_ptr(),
                message.as_ptr().cast(),
                message.len() as c_uint,
            )
        };
        if status == 0 {
            Ok(())
        } else {
            Err(())
        }
    }

    /// Passes one message to its handlers; false: none came within this time.
    pub fn handle(&self, milliseconds: c_int) -> bool {
        // SAFETY: the handlers' contexts live, as `subscribe` was promised.
        unsafe { lcm_handle_timeout(self.0.as_ptr(), milliseconds) > 0 }
    }

    /// The descriptor is readable while messages wait, as long as the instance lives; this call
    /// makes it receive. Error: multicast does not come back to this host.
    pub fn descriptor(&self) -> Result<RawFd, Error> {
        // SAFETY: an open instance.
        match unsafe { lcm_get_fileno(self.0.as_ptr()) } {
            -1 => Err(Error::failed(
                "lcm_get_fileno",
                "LCM does not hear its own multicast; see its messages in the worker's log",
            )),
            descriptor => Ok(descriptor),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { lcm_destroy(self.0.as_ptr()) };
    }
}

/// The part of a requested receive buffer that a UDP socket gets.
pub fn granted_receive_buffer(bytes: usize) -> io::Result<usize> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    set_socket_recv_buffer_size(&socket, bytes)?;
    Ok(socket_recv_buffer_size(&socket)? / 2) // the kernel also counts its own overhead
}
