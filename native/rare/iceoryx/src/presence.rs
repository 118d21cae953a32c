//! How many publishers or clients there are with a name: iceoryx reports to subscribers and servers
//! only whether there is one.
//!
//! So each announces itself by an offer of its own with a separate instance, which carries no
//! messages; RouDi lists offers, and ends those of a process that died.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;

use crate::sys;

/// An announcement; dropping it ends it.
pub struct Presence(*mut sys::Publisher);

// SAFETY: a port of shared memory, which one thread at a time uses.
unsafe impl Send for Presence {}

impl Presence {
    pub fn new(service: &CStr, instance: &CStr) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let event = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let event = CString::new(event).expect("digits");
        // SAFETY: the strings outlive the call, which copies them.
        Presence(unsafe {
            sys::rmwbench_publisher_new(
                service.as_ptr(),
                instance.as_ptr(),
                event.as_ptr(),
                0,
                false,
            )
        })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::rmwbench_publisher_delete(self.0) };
    }
}

/// Reads RouDi's list.
pub struct Census(Mutex<*mut sys::Discovery>);

// SAFETY: it is used only under the lock.
unsafe impl Send for Census {}
// SAFETY: as above.
unsafe impl Sync for Census {}

impl Census {
    pub fn new() -> Self {
        // SAFETY: the runtime exists.
        Census(Mutex::new(unsafe { sys::rmwbench_discovery_new() }))
    }

    pub fn count(&self, service: &CStr, instance: &CStr) -> u32 {
        // SAFETY: ours while it lives; strings that outlive the call.
        unsafe {
            sys::rmwbench_discovery_count(
                *self.0.lock().unwrap(),
                service.as_ptr(),
                instance.as_ptr(),
            )
        }
    }

    /// Whether a service with this name is offered, even by a process that died and whose end RouDi
    /// has not yet noticed.
    pub fn has_service(&self, service: &CStr, instance: &CStr, event: &CStr) -> bool {
        let discovery = self.0.lock().unwrap();
        // SAFETY: as above.
        unsafe {
            sys::rmwbench_discovery_services(
                *discovery,
                service.as_ptr(),
                instance.as_ptr(),
                event.as_ptr(),
            ) > 0
        }
    }
}

impl Drop for Census {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::rmwbench_discovery_delete(*self.0.lock().unwrap()) };
    }
}
