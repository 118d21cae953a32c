//! Whether the machine starved a check: how late a thread woke up that only sleeps.
//!
//! Only this excuses a failure, and the proof is printed. Python's tests have the same rule
//! (`tests/support/starved.py`).

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);
/// On two processors the scheduler gives each of a dozen busy threads its turn within some 10 ms.
const STARVED: Duration = Duration::from_millis(100);

/// How late the thread woke during a check.
#[derive(Clone, Copy)]
pub struct Machine {
    latest: Duration,
}

impl Machine {
    pub fn starved(self) -> bool {
        self.latest > STARVED
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (late, allowed) = (self.latest.as_millis(), STARVED.as_millis());
        write!(f, "a sleeping thread woke up {late} ms late (starved: more than {allowed} ms)")
    }
}

/// Measures from `start` until `stop`.
pub struct Watch {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Watch {
    pub fn start() -> Watch {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = ended.clone();
        // The measured times are from here to the first wake-up, and from each to the next, without
        // a gap.
        let mut awake = Instant::now();
        let thread = std::thread::spawn(move || {
            let mut latest = Duration::ZERO;
            loop {
                let is_last = seen.load(Ordering::Relaxed);
                std::thread::sleep(TICK);
                let now = Instant::now();
                latest = latest.max((now - awake).saturating_sub(TICK));
                awake = now;
                if is_last {
                    return latest;
                }
            }
        });
        Watch { ended, thread }
    }

    pub fn stop(self) -> Machine {
        self.ended.store(true, Ordering::Relaxed);
        Machine { latest: self.thread.join().expect("it only sleeps") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_runs_its_threads_is_not_an_excuse() {
        let machine = |latest| Machine { latest };
        assert!(!machine(Duration::from_millis(20)).starved());
        assert!(machine(Duration::from_millis(300)).starved());
        assert_eq!(
            machine(Duration::from_millis(300)).to_string(),
            "a sleeping thread woke up 300 ms late (starved: more than 100 ms)"
        );
    }

    #[test]
    fn the_watch_sees_that_its_process_was_stopped() {
        let watch = Watch::start();
        let stop = format!("kill -STOP {0}; sleep 0.4; kill -CONT {0}", std::process::id());
        std::process::Command::new("sh")
            .args(["-c", &stop])
            .spawn()
            .expect("a shell")
            .wait()
            .expect("it ends");
        assert!(watch.stop().starved());
    }
}
