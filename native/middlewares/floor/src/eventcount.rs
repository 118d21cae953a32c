//! Sleep and wake on one futex word, without a system call while no thread sleeps.
//!
//! The lowest bit means that a thread is about to sleep. The sleeper sets it, checks once more for
//! the data that it waits for, and sleeps on the armed value; the waker changes the word only if
//! the bit is set. Both sides use sequentially consistent accesses between the data and the word,
//! so one of them always sees the other: either the sleeper finds the data or the waker finds the
//! bit.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use rustix::thread::futex;
use rustix::time::Timespec;

const ARMED: u32 = 1;

/// Announces a sleep; pass the result to [`sleep`] or [`disarm`].
pub fn arm(word: &AtomicU32) -> u32 {
    word.fetch_or(ARMED, SeqCst) | ARMED
}

pub fn disarm(word: &AtomicU32) {
    word.fetch_and(!ARMED, SeqCst);
}

#[inline]
pub fn is_armed(word: &AtomicU32) -> bool {
    word.load(SeqCst) & ARMED != 0
}

/// Sleeps unless the word has changed since it was armed; it may wake early, so call it in a loop.
/// `timeout_ns`: None for ever.
pub fn sleep(word: &AtomicU32, armed: u32, timeout_ns: Option<i64>) {
    let timeout =
        timeout_ns.map(|ns| Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 });
    // Possible errors: the word has already changed, a signal came, the time-out. The caller checks
    // again in each case.
    let _ = futex::wait(word, futex::Flags::empty(), armed, timeout.as_ref());
}

/// Wakes the sleeper, if there is one.
#[inline]
pub fn wake(word: &AtomicU32) {
    let seen = word.load(SeqCst);
    if seen & ARMED != 0
        && word.compare_exchange(seen, seen.wrapping_add(1), SeqCst, SeqCst).is_ok()
    {
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }
}
