//! The bare program (`bare/bare.cpp`), and the work that the user does in both programs.

use std::ffi::{c_char, c_int, CString};
use std::ptr::NonNull;

use rmwbench_bench::{Path, Round};
use rmwbench_harness::message_type::{dds_topic_name, MessageType};
use rmwbench_harness::payload;

use crate::profile::NAME;

enum Raw {}

extern "C" {
    fn bare_open(
        domain: u32,
        profile: *const c_char,
        topic: *const c_char,
        prefix: *const u8,
        prefix_bytes: usize,
        payload_bytes: usize,
        capacity: usize,
    ) -> *mut Raw;
    fn bare_close(bare: *mut Raw);
    fn bare_matched(bare: *mut Raw) -> c_int;
    fn bare_send(bare: *mut Raw);
    fn bare_all_received(bare: *const Raw) -> c_int;
    fn bare_latencies_ns(bare: *const Raw, latencies_ns: *mut i64) -> usize;
    fn bare_corrupt(bare: *const Raw) -> c_int;
}

#[no_mangle]
unsafe extern "C" fn bench_fill(body: *mut u8, bytes: usize, seq: u64) {
    payload::fill(std::slice::from_raw_parts_mut(body, bytes), 1, seq);
}

#[no_mangle]
unsafe extern "C" fn bench_verify(body: *const u8, bytes: usize, seq: u64) -> c_int {
    c_int::from(payload::verify(std::slice::from_raw_parts(body, bytes), 1, seq))
}

pub struct Bare {
    raw: NonNull<Raw>,
    capacity: usize,
}

impl Bare {
    /// Opens it after a session of ours has loaded the profile.
    pub fn open(domain: u32, round: &Round) -> Result<Bare, String> {
        let (payload_bytes, capacity) = (round.load.payload_bytes, round.messages());
        let message_type = MessageType::bytes(payload_bytes);
        let topic = format!("bare_{}", round.name());
        let (profile, topic) =
            (CString::new(NAME).unwrap(), CString::new(dds_topic_name(&topic)).unwrap());
        let prefix = &message_type.cdr_prefix;
        // SAFETY: the callee copies all arguments.
        let raw = unsafe {
            bare_open(
                domain,
                profile.as_ptr(),
                topic.as_ptr(),
                prefix.as_ptr(),
                prefix.len(),
                payload_bytes as usize,
                capacity,
            )
        };
        let raw = NonNull::new(raw).ok_or("Fast DDS refused the bare program's entities")?;
        Ok(Bare { raw, capacity })
    }
}

impl Path for Bare {
    fn matched(&mut self) -> bool {
        // SAFETY: open until drop.
        unsafe { bare_matched(self.raw.as_ptr()) != 0 }
    }

    fn send(&mut self, _due_ns: i64) {
        // SAFETY: open until drop.
        unsafe { bare_send(self.raw.as_ptr()) }
    }

    fn all_received(&self) -> bool {
        // SAFETY: open until drop.
        unsafe { bare_all_received(self.raw.as_ptr()) != 0 }
    }

    fn latencies_ns(&self) -> Vec<Option<f64>> {
        let mut latencies = vec![0; self.capacity];
        // SAFETY: open until drop, and there is room for as many as it can have sent.
        let sent = unsafe { bare_latencies_ns(self.raw.as_ptr(), latencies.as_mut_ptr()) };
        latencies[..sent].iter().map(|&l| (l >= 0).then_some(l as f64)).collect()
    }

    fn intact(&self) -> bool {
        // SAFETY: open until drop.
        unsafe { bare_corrupt(self.raw.as_ptr()) == 0 }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: ours, closed once.
        unsafe { bare_close(self.raw.as_ptr()) }
    }
}
