//! Finds out which features work here by trying them in a network namespace of its own: kernel
//! versions and configurations promise too much.

use std::os::fd::OwnedFd;

use rustix::thread::{unshare_unsafe, UnshareFlags};
use serde_json::{json, Value};

use crate::engine::go_real_time;
use crate::tap::Tap;

/// Tries all features. It leaves this process in a new network namespace, so it is for a process
/// with one thread that ends soon.
pub fn everything() -> Value {
    let answer = |result: Result<(), String>| {
        Value::String(result.map_or_else(|why| format!("no: {why}"), |()| "yes".into()))
    };
    let namespace = own_network();
    let tap = namespace.clone().and_then(|()| device());
    let carrier = match &tap {
        Ok(tap) => tap.carrier(false).and_then(|()| tap.carrier(true)),
        Err(why) => Err(why.clone()),
    };
    json!({"namespace": answer(namespace), "tap": answer(tap.map(drop)), "carrier": answer(carrier), "fifo": answer(go_real_time())})
}

fn own_network() -> Result<(), String> {
    // SAFETY: no other thread runs.
    let alone = unsafe { unshare_unsafe(UnshareFlags::NEWNET) };
    // SAFETY: as above.
    let mapped =
        alone.or_else(|_| unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) });
    mapped.map_err(|e| {
        format!("no network namespace, neither directly nor through a user namespace: {e}")
    })
}

fn device() -> Result<Tap, String> {
    Tap::make("rmwbench0").and_then(|fd: OwnedFd| Tap::adopt(fd))
}
