//! The thread that holds messages until their time.
//!
//! One per session. It sleeps until shortly before the earliest message is due and spins for the
//! rest, without timer slack: any further lateness is the machine's, and is counted (`lateness_…`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rmwbench_harness::clock::{now_ns, remove_timer_slack};
use rmwbench_harness::middleware::Error;

use crate::reader::Reader;

pub struct Held {
    pub due_ns: i64,
    pub reader: Arc<Reader>,
    pub message: Vec<u8>,
    /// How many times it is to be delivered.
    pub times: u32,
    pub is_steady: bool,
}

pub struct DeliveryThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    heap: Mutex<Heap>,
    on_change: Condvar,
    /// The number of messages handed in so far: a change makes a spinning thread check again.
    handed_in: AtomicU64,
    stop: AtomicBool,
    spin_ns: i64,
}

#[derive(Default)]
struct Heap {
    /// Ordered by due time, then by arrival.
    order: BinaryHeap<Reverse<(i64, u64, usize)>>,
    places: Vec<Option<Held>>,
    free: Vec<usize>,
}

impl DeliveryThread {
    pub fn start(spin_ns: i64) -> Result<DeliveryThread, Error> {
        let shared = Arc::new(Shared { spin_ns, ..Shared::default() });
        let thread = {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name("synthetic".into())
                .spawn(move || run(&shared))
                .map_err(|e| Error::failed("delivery thread", e))?
        };
        Ok(DeliveryThread { shared, thread: Some(thread) })
    }

    pub fn hold(&self, message: Held) {
        let mut heap = self.shared.heap.lock().unwrap();
        let number = self.shared.handed_in.load(Ordering::Relaxed);
        let due_ns = message.due_ns;
        let place = heap.free.pop().unwrap_or_else(|| {
            heap.places.push(None);
            heap.places.len() - 1
        });
        heap.places[place] = Some(message);
        heap.order.push(Reverse((due_ns, number, place)));
        self.shared.handed_in.store(number + 1, Ordering::SeqCst);
        drop(heap);
        self.shared.on_change.notify_one();
    }
}

impl Drop for DeliveryThread {
    fn drop(&mut self) {
        {
            let _heap = self.shared.heap.lock().unwrap();
            self.shared.stop.store(true, Ordering::SeqCst);
        }
        self.shared.on_change.notify_one();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn run(shared: &Shared) {
    remove_timer_slack();
    let mut heap = shared.heap.lock().unwrap();
    while !shared.stop.load(Ordering::SeqCst) {
        let Some(&Reverse((due_ns, _, place))) = heap.order.peek() else {
            heap = shared.on_change.wait(heap).unwrap();
            continue;
        };
        let early_ns = due_ns - now_ns();
        if early_ns > shared.spin_ns {
            heap = shared
                .on_change
                .wait_timeout(heap, Duration::from_nanos((early_ns - shared.spin_ns) as u64))
                .unwrap()
                .0;
            continue;
        }
        if early_ns > 0 {
            let seen = shared.handed_in.load(Ordering::SeqCst);
            drop(heap);
            while now_ns() < due_ns && shared.handed_in.load(Ordering::SeqCst) == seen {
                std::hint::spin_loop();
            }
            heap = shared.heap.lock().unwrap();
            continue;
        }
        heap.order.pop();
        let entry = heap.places[place].take().expect("an ordered place is taken");
        heap.free.push(place);
        drop(heap);
        entry.reader.release(&entry.message, entry.due_ns, entry.times, entry.is_steady);
        heap = shared.heap.lock().unwrap();
    }
}
