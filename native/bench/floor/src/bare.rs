//! The bare program: a flag and 64 bytes in shared memory, one such box in each direction, and
//! nothing else.
//!
//! On request each side also reads the clock after it received and before it sends: within the
//! path, where each read waits for the loads before it, these reads cost more than the same reads
//! in a row.

use std::hint::black_box;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rmwbench_harness::clock::now_ns;
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use rustix::mm::{mmap, MapFlags, ProtFlags};
use rustix::thread::futex;

pub const PAYLOAD_BYTES: usize = 64;

#[repr(C, align(128))]
struct Mailbox {
    /// The number of the message in the box, modulo 2^32.
    number: AtomicU32,
    _line: [u8; 60],
    payload: [u8; PAYLOAD_BYTES],
}

/// One side of the pair; it is mapped for the life of the process.
pub struct Bare {
    outgoing: *mut Mailbox,
    incoming: *mut Mailbox,
    number: u32,
    sleeps: bool,
}

// SAFETY: one thread at a time uses it.
unsafe impl Send for Bare {}

pub fn create() -> rustix::io::Result<OwnedFd> {
    // Without CLOEXEC, because the other side inherits it.
    let fd = memfd_create("rmwbench-bare", MemfdFlags::empty())?;
    ftruncate(&fd, 4096)?;
    Ok(fd)
}

impl Bare {
    /// `side` 0 or 1; `sleeps`: wait on a futex instead of spinning.
    pub fn open(fd: impl AsFd, side: usize, sleeps: bool) -> rustix::io::Result<Bare> {
        // SAFETY: a fresh mapping of a file of that size, never unmapped; it holds two boxes.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                4096,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )
        }?
        .cast::<Mailbox>();
        // SAFETY: within the page.
        let (outgoing, incoming) = unsafe { (base.add(side), base.add(1 - side)) };
        Ok(Bare { outgoing, incoming, number: 0, sleeps })
    }

    #[inline]
    pub fn send(&mut self, payload: &[u8; PAYLOAD_BYTES]) {
        self.number = self.number.wrapping_add(1);
        // SAFETY: the box is ours until its number is stored; the other side reads it only after
        // that, and answers before we write again.
        unsafe {
            (&raw mut (*self.outgoing).payload).write(*payload);
            (*self.outgoing).number.store(self.number, Ordering::Release);
            if self.sleeps {
                let _ = futex::wake(&(*self.outgoing).number, futex::Flags::empty(), 1);
            }
        }
    }

    /// Waits for the message after the last received one or, on the echoing side, for the next one
    /// to answer.
    #[inline]
    pub fn receive(&mut self, number: u32) -> [u8; PAYLOAD_BYTES] {
        // SAFETY: as above, with the roles exchanged.
        unsafe {
            loop {
                let current = (*self.incoming).number.load(Ordering::Acquire);
                if current == number {
                    return (&raw const (*self.incoming).payload).read();
                }
                if self.sleeps {
                    let _ =
                        futex::wait(&(*self.incoming).number, futex::Flags::empty(), current, None);
                } else {
                    std::hint::spin_loop();
                }
            }
        }
    }

    /// Sends a message and waits for its answer; `stamped`: with two clock reads.
    pub fn ping(&mut self, payload: &[u8; PAYLOAD_BYTES], stamped: bool) -> [u8; PAYLOAD_BYTES] {
        stamp(stamped);
        self.send(payload);
        let answer = black_box(self.receive(self.number));
        stamp(stamped);
        answer
    }

    pub fn pong(&mut self, stamped: bool) {
        let payload = black_box(self.receive(self.number.wrapping_add(1)));
        stamp(stamped);
        stamp(stamped);
        self.send(&payload);
    }
}

#[inline]
fn stamp(stamped: bool) {
    if stamped {
        black_box(now_ns());
    }
}
