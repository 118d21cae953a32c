//! Write batching: Cyclone packs small messages into one datagram and sends it when it is full, or
//! when it is flushed.
//!
//! A user of the API flushes (`dds_write_flush`) at the end of each of its own bursts; an open-loop
//! schedule has no such ends. So one thread flushes every writer of the session in a fixed period,
//! which bounds the latency that batching adds.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use cyclors::{dds_entity_t, dds_write_flush};
use rmwbench_harness::middleware::Error;

/// The option that sets the period.
pub const PERIOD: &str = "batch_flush_us";
pub const DEFAULT_PERIOD_US: u64 = 1_000;

pub struct Batches {
    shared: Arc<Shared>,
    period: Duration,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    writers: Mutex<Writers>,
    changed: Condvar,
}

#[derive(Default)]
struct Writers {
    open: Vec<dds_entity_t>,
    closing: bool,
}

impl Batches {
    pub fn start(period: Duration) -> Result<Batches, Error> {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let thread = std::thread::Builder::new()
            .name("flush".into())
            .spawn(move || theirs.flush_every(period));
        Ok(Batches {
            shared,
            period,
            thread: Some(thread.map_err(|e| Error::failed("flushing thread", e))?),
        })
    }

    /// Flushes this writer until the result is dropped.
    pub fn add(&self, writer: dds_entity_t) -> Batched {
        self.shared.writers.lock().unwrap().open.push(writer);
        self.shared.changed.notify_all();
        Batched { shared: self.shared.clone(), writer }
    }

    pub fn note(&self) -> String {
        let period = self.period.as_micros();
        format!("batching: messages wait until a datagram is full, {period} µs at most (a thread of this worker flushes)")
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.shared.writers.lock().unwrap().closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A writer that is flushed.
pub struct Batched {
    shared: Arc<Shared>,
    writer: dds_entity_t,
}

impl Drop for Batched {
    fn drop(&mut self) {
        self.shared.writers.lock().unwrap().open.retain(|&writer| writer != self.writer);
    }
}

impl Shared {
    fn flush_every(&self, period: Duration) {
        let mut writers = self.writers.lock().unwrap();
        while !writers.closing {
            // The lock is held, so that no writer is deleted meanwhile; a publish call does not
            // take it.
            for &writer in &writers.open {
                // SAFETY: a plain call on a live entity.
                unsafe { dds_write_flush(writer) };
            }
            writers = match writers.open.is_empty() {
                true => self.changed.wait(writers).unwrap(),
                false => self.changed.wait_timeout(writers, period).unwrap().0,
            };
        }
    }
}
