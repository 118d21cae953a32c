//! The receiving end of a subscription: the fate of its messages, and counts of the applied
//! effects.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Delivery, Sink};

use crate::cost::{burn, Hoard};
use crate::settings::Settings;
use crate::truth::{Chain, Truth, TruthStream};

/// The receiving end of a subscription, shared with the delivery thread.
pub struct Reader {
    settings: Arc<Settings>,
    nonce: u64,
    /// None once the subscription has ended. The lock is held during a delivery.
    sink: Mutex<Option<Arc<dyn Sink>>>,
    writers: Mutex<HashMap<u32, Writer>>,
    /// When the last message so far will have been served.
    served_ns: AtomicI64,
    hoard: Mutex<Hoard>,
    pub injected: Injected,
}

#[derive(Default)]
struct Writer {
    chain: Chain,
    /// When its last message in order is due.
    last_due_ns: i64,
}

/// Counts of the effects on this reader's messages, by part of the trial.
#[derive(Default)]
pub struct Injected {
    parts: [Part; 2],
    lateness_max_ns: AtomicI64,
    lateness_sum_ns: AtomicI64,
}

#[derive(Default)]
pub struct Part {
    /// The number of distinct messages that were delivered.
    pub delivered: AtomicU64,
    pub lost: AtomicU64,
    pub duplicated: AtomicU64,
    pub reordered: AtomicU64,
    pub corrupted: AtomicU64,
    /// The sum of the latencies of held-back messages, as `fifo` and `reorder` changed them.
    pub latency_sum_ns: AtomicU64,
}

const WARMUP: usize = 0;
const STEADY: usize = 1;

impl Injected {
    pub fn of(&self, is_steady: bool) -> &Part {
        &self.parts[if is_steady { STEADY } else { WARMUP }]
    }

    pub fn counters(&self) -> impl Iterator<Item = (String, i64)> + '_ {
        let parts = [("warmup", &self.parts[WARMUP]), ("steady", &self.parts[STEADY])]
            .into_iter()
            .flat_map(|(name, part)| {
                [
                    ("delivered", &part.delivered),
                    ("injected_lost", &part.lost),
                    ("injected_duplicated", &part.duplicated),
                    ("injected_reordered", &part.reordered),
                    ("injected_corrupted", &part.corrupted),
                    ("injected_latency_sum_ns", &part.latency_sum_ns),
                ]
                .map(|(what, count)| {
                    (format!("{name}_{what}"), count.load(Ordering::Relaxed) as i64)
                })
            });
        let lateness = [
            ("lateness_max_ns", &self.lateness_max_ns),
            ("lateness_sum_ns", &self.lateness_sum_ns),
        ];
        parts.chain(lateness.map(|(what, ns)| (what.to_string(), ns.load(Ordering::Relaxed))))
    }
}

impl Reader {
    pub fn new(settings: Arc<Settings>, nonce: u64, sink: Arc<dyn Sink>) -> Reader {
        let (writers, hoard, injected) = Default::default();
        let served_ns = AtomicI64::new(0);
        Reader {
            settings,
            nonce,
            sink: Mutex::new(Some(sink)),
            writers,
            served_ns,
            hoard,
            injected,
        }
    }

    /// Ends delivery; waits for a delivery that is under way.
    pub fn end(&self) {
        *self.sink.lock().unwrap() = None;
    }

    /// When the message that was sent at `call_ns` will have been served: it is the next in the
    /// queue.
    pub fn served(&self, call_ns: i64) -> i64 {
        if self.settings.serve_ns == 0 {
            return call_ns;
        }
        let end_ns = |before_ns: i64| before_ns.max(call_ns) + self.settings.serve_ns;
        let before_ns = self
            .served_ns
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before_ns| Some(end_ns(before_ns)))
            .unwrap_or_default();
        end_ns(before_ns)
    }

    /// When a probe that was sent at `call_ns` is due; None: at once.
    pub fn probe_due_ns(&self, call_ns: i64) -> Option<i64> {
        let mean_ns = self.settings.latency.map_or(0.0, |law| law.mean_ns());
        (self.settings.serve_ns > 0).then(|| self.served(call_ns) + mean_ns as i64)
    }

    /// The fate of this message, and when it is due.
    pub fn fate(&self, writer: u32, seq: u64, call_ns: i64) -> (Truth, i64) {
        let mut writers = self.writers.lock().unwrap();
        let state = writers.entry(writer).or_default();
        let mut stream = TruthStream::resume(&self.settings, self.nonce, writer, state.chain);
        let truth = stream.at(seq);
        state.chain = stream.chain();
        let mut due_ns = call_ns + truth.latency_ns.unwrap_or(0);
        if truth.reordered {
            due_ns += self.settings.reorder.map_or(0, |r| r.by_ns);
        } else if self.settings.fifo && !truth.lost {
            due_ns = due_ns.max(state.last_due_ns);
            state.last_due_ns = due_ns;
        }
        (truth, due_ns)
    }

    /// The delivery thread calls this when the message's time has come.
    pub fn release(&self, message: &[u8], due_ns: i64, times: u32, is_steady: bool) {
        for time in 0..times {
            let now = now_ns();
            if time == 0 {
                let lateness_ns = now - due_ns;
                self.injected.lateness_max_ns.fetch_max(lateness_ns, Ordering::Relaxed);
                if is_steady {
                    self.injected.lateness_sum_ns.fetch_add(lateness_ns, Ordering::Relaxed);
                }
            }
            self.hand_over(&Delivery::taken(0, message, false));
        }
        self.pay();
    }

    pub fn hand_over(&self, delivery: &Delivery<'_>) {
        if let Some(sink) = &*self.sink.lock().unwrap() {
            sink.deliver(delivery);
        }
    }

    /// Uses CPU and memory for a message after its delivery, so that its latency does not change.
    pub fn pay(&self) {
        burn(self.settings.cpu_burn_ns.reader);
        if self.settings.memory_growth_bytes.reader > 0 {
            self.hoard.lock().unwrap().grow(self.settings.memory_growth_bytes.reader);
        }
    }
}
