//! The schedule: open loop, absolute times. A thread sends for one publisher, or for all publishers
//! that one `start` names, as an executor runs the timers of its nodes
//! ([`crate::protocol::Schedule`]).
//!
//! One thread per publisher needs no more wake-ups than one thread for all, since every message is
//! due at a time of its own. An unused stack takes addresses but no memory: two hundred threads
//! touch a few megabytes.
//!
//! A late message is sent late and never skipped; sleeping ends at an absolute time, or earlier
//! when a stop interrupts it. It ends exactly, although the thread keeps the timer slack of a
//! user's thread, because a middleware may sleep within its publish call, or start threads there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};

use rustix::time::{
    timerfd_create, timerfd_settime, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags,
    Timespec,
};

use crate::clock::now_ns;
use crate::payload::Phase;
use crate::protocol::{Arrival, Event, Start};
use crate::publisher::{Cause, PublisherSlot, RecordedPublisher};

/// Offsets from the start at which messages are due, in ns, ascending; a pure function of the
/// arrival.
pub struct DueTimes {
    arrival: Arrival,
    k: u64,
    poisson_ns: f64,
    random: u64,
}

impl DueTimes {
    /// A relay has no due times, and the due times of saturation are not known beforehand.
    pub fn new(arrival: Arrival) -> Self {
        let random = if let Arrival::Poisson { seed, .. } = arrival { seed } else { 0 };
        DueTimes { arrival, k: 0, poisson_ns: 0.0, random }
    }

    /// A uniform number in (0, 1], by SplitMix64 (Steele, Lea, Flood 2014).
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Iterator for DueTimes {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let k = self.k;
        self.k += 1;
        match &self.arrival {
            Arrival::Periodic { period_ns, phase_ns } => offset(*phase_ns, k, *period_ns),
            Arrival::Burst { period_ns, count, phase_ns } => {
                offset(*phase_ns, k / u64::from(*count), *period_ns)
            }
            Arrival::Trace { offsets_ns } => offsets_ns.get(k as usize).copied(),
            Arrival::Poisson { rate_hz, .. } => {
                let mean_ns = 1e9 / rate_hz;
                self.poisson_ns -= self.uniform().ln() * mean_ns;
                Some(self.poisson_ns as i64)
            }
            Arrival::Relay { .. } | Arrival::Saturation { .. } => None,
        }
    }
}

/// The k-th due time; None beyond the range of an i64: such a schedule has ended long ago.
fn offset(phase_ns: i64, k: u64, period_ns: i64) -> Option<i64> {
    i64::try_from(k).ok()?.checked_mul(period_ns)?.checked_add(phase_ns)
}

/// The alarm clock of one thread that sends; [`Interrupt::raise`] wakes it before its time.
///
/// It is a timer of the kernel (timerfd), which is exact whatever the thread's timer slack is. A
/// wait on a futex is not exact, and setting the thread's slack to zero would also set it for the
/// middleware's code in this thread.
pub struct Interrupt {
    raised: AtomicU32,
    timer: OwnedFd,
}

impl Interrupt {
    pub fn new() -> std::io::Result<Interrupt> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Interrupt { raised: AtomicU32::new(0), timer })
    }

    pub fn raise(&self) {
        self.raised.fetch_add(1, Ordering::Release);
        // A time in the past. A thread that sets another time meanwhile looks at the count
        // afterwards.
        self.set(1);
    }

    fn set(&self, due_ns: i64) {
        let it_value = Timespec {
            tv_sec: due_ns.div_euclid(1_000_000_000),
            tv_nsec: due_ns.rem_euclid(1_000_000_000),
        };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let once = Itimerspec { it_interval, it_value };
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once);
    }

    /// How often it was raised. Read it before reading any state that a raise may have changed.
    fn count(&self) -> u32 {
        self.raised.load(Ordering::Acquire)
    }

    /// Sleeps until `due_ns`; false if it was raised since `seen` was read.
    fn sleep_until(&self, due_ns: i64, seen: u32) -> bool {
        while now_ns() < due_ns {
            self.set(due_ns);
            if self.count() != seen {
                return false;
            }
            // Blocks until the timer expires or a signal comes.
            let _ = rustix::io::read(&self.timer, &mut [0_u8; 8]);
            if self.count() != seen {
                return false;
            }
        }
        true
    }
}

/// One publisher with its arrivals.
pub struct Scheduled {
    pub slot: Arc<PublisherSlot>,
    pub arrival: Arrival,
}

struct Running<'a> {
    slot: &'a PublisherSlot,
    publisher: MutexGuard<'a, Option<RecordedPublisher>>,
    due: DueTimes,
    scheduled: u64,
}

impl Running<'_> {
    /// How many messages, from the one due at `due_ns` on, were due before `until_ns`, which is a
    /// time within the schedule.
    fn left_over(&mut self, due_ns: i64, until_ns: i64, start: &Start) -> u64 {
        if due_ns >= until_ns {
            return 0;
        }
        let due = |offset: &i64| start.at_ns.saturating_add(*offset) < until_ns;
        1 + self.due.by_ref().take_while(due).count() as u64
    }

    /// Ends before the message due at `due_ns`: the messages that were due until it left were never
    /// sent.
    fn leave(mut self, due_ns: i64, start: &Start, report: &dyn Fn(Event)) {
        let until_ns = start.end_ns.min(self.slot.until_ns());
        let never_sent = self.left_over(due_ns, until_ns, start);
        self.finish(never_sent, report);
    }

    fn finish(self, never_sent: u64, report: &dyn Fn(Event)) {
        let tally = self.publisher.as_ref().map(|p| *p.tally()).unwrap_or_default();
        // This comes before the report: the receiver of the report may request the account at once.
        drop(self.publisher);
        report(Event::Finished {
            endpoint: self.slot.endpoint,
            scheduled: self.scheduled + never_sent,
            sent: tally.attempted() - tally.failed(),
            failed: tally.failed(),
            never_sent,
            last_seq: tally.last_sent_seq(),
            time_ns: now_ns(),
        });
    }
}

fn phase(intended_ns: i64, start: &Start) -> Phase {
    if intended_ns < start.steady_ns {
        Phase::Warmup
    } else {
        Phase::Steady
    }
}

/// Sends, in the calling thread, until every publisher's schedule has ended; reports each end once.
/// Relays must not be among the publishers, and a saturating publisher must be alone, since it
/// gives no other a turn.
pub fn run(
    publishers: Vec<Scheduled>,
    start: &Start,
    interrupt: &Interrupt,
    report: &dyn Fn(Event),
) {
    let mut running: Vec<Option<Running>> = Vec::with_capacity(publishers.len());
    let mut heap = BinaryHeap::with_capacity(publishers.len());
    for (index, p) in publishers.iter().enumerate() {
        let publisher = p.slot.publisher.lock().expect("a publisher panicked");
        let mut r = Running {
            slot: &p.slot,
            publisher,
            due: DueTimes::new(p.arrival.clone()),
            scheduled: 0,
        };
        if let Arrival::Saturation { limit } = p.arrival {
            saturate(&mut r, limit, start, interrupt);
            r.finish(0, report);
            running.push(None);
            continue;
        }
        if let Some(offset) = r.due.next() {
            heap.push(Reverse((start.at_ns.saturating_add(offset), index)));
        }
        running.push(Some(r));
    }
    let mut seen = interrupt.count();
    loop {
        let raised = interrupt.count();
        if raised != seen {
            seen = raised;
            // A stopped publisher ends now, not when its next message would have been due.
            heap.retain(|Reverse((due_ns, index)): &Reverse<(i64, usize)>| {
                let stopped = running[*index].take_if(|r| *due_ns >= r.slot.stop_ns());
                let is_gone = stopped.is_some();
                if let Some(r) = stopped {
                    r.leave(*due_ns, start, report);
                }
                !is_gone
            });
        }
        let Some(Reverse((due_ns, index))) = heap.pop() else { break };
        let r = running[index].as_mut().expect("a finished publisher is not in the heap");
        let end_ns = start.end_ns.min(r.slot.stop_ns());
        if due_ns >= end_ns {
            running[index].take().expect("checked above").leave(due_ns, start, report);
            continue;
        }
        if now_ns() < due_ns && !interrupt.sleep_until(due_ns, seen) {
            heap.push(Reverse((due_ns, index)));
            continue;
        }
        if now_ns() >= start.end_ns + start.grace_ns {
            let never_sent = r.left_over(due_ns, end_ns, start);
            running[index].take().expect("checked above").finish(never_sent, report);
            continue;
        }
        r.scheduled += 1;
        if let Some(publisher) = r.publisher.as_mut() {
            // The record and the count show a failure; the schedule goes on.
            let _ = publisher.send(due_ns, phase(due_ns, start), Cause::default());
        }
        if let Some(offset) = r.due.next() {
            heap.push(Reverse((start.at_ns.saturating_add(offset), index)));
        } else {
            running[index].take().expect("checked above").finish(0, report);
        }
    }
    for r in running.into_iter().flatten() {
        r.finish(0, report);
    }
}

/// Sends back to back, in a closed loop: the intended time is the time at which work on the message
/// begins, so response time equals service time.
fn saturate(r: &mut Running, limit: u64, start: &Start, interrupt: &Interrupt) {
    loop {
        let seen = interrupt.count();
        if r.slot.stop_ns() <= start.at_ns {
            return;
        }
        if interrupt.sleep_until(start.at_ns, seen) {
            break;
        }
    }
    let Some(publisher) = r.publisher.as_mut() else { return };
    while r.scheduled < limit {
        let intended_ns = now_ns();
        if intended_ns >= start.end_ns.min(r.slot.stop_ns()) {
            return;
        }
        r.scheduled += 1;
        let _ = publisher.send(intended_ns, phase(intended_ns, start), Cause::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::{Account, Endpoint, Granted, PublishError, Publisher};
    use crate::protocol::Schedule;
    use crate::publisher::Recorder;
    use std::cell::RefCell;
    use std::sync::Mutex;
    use std::time::Duration;

    type Log = Arc<Mutex<Vec<(i64, u64)>>>;

    struct Fake {
        log: Log,
        block: Duration,
    }

    impl Endpoint for Fake {
        fn matched(&self) -> u32 {
            1
        }
        fn granted(&self) -> Granted {
            unimplemented!("the schedule never asks")
        }
        fn account(&self) -> Account {
            Account::default()
        }
    }

    impl Publisher for Fake {
        fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
            let header = crate::payload::Header::read(payload).unwrap();
            std::thread::sleep(self.block);
            self.log.lock().unwrap().push((header.intended_ns, header.seq));
            Ok(())
        }
    }

    fn slot(endpoint: u32, log: &Log, block: Duration) -> Arc<PublisherSlot> {
        let parts = Recorder {
            section: None,
            endpoint,
            nonce: 1,
            payload_bytes: 64,
            touched_bytes: 0,
            loan: false,
        };
        PublisherSlot::new(
            endpoint,
            RecordedPublisher::new(Box::new(Fake { log: log.clone(), block }), parts),
        )
    }

    fn go(publishers: Vec<Scheduled>, length_ns: i64, grace_ns: i64) -> (i64, Vec<Event>) {
        let at_ns = now_ns() + 1_000_000;
        let start = Start {
            at_ns,
            steady_ns: at_ns,
            end_ns: at_ns + length_ns,
            grace_ns,
            endpoints: None,
            schedule: Schedule::Shared,
        };
        let events = RefCell::new(Vec::new());
        run(publishers, &start, &Interrupt::new().unwrap(), &|e| events.borrow_mut().push(e));
        (at_ns, events.into_inner())
    }

    #[test]
    fn arrivals_are_what_they_say() {
        let first = |arrival, n| DueTimes::new(arrival).take(n).collect::<Vec<_>>();
        assert_eq!(first(Arrival::Periodic { period_ns: 10, phase_ns: 3 }, 3), [3, 13, 23]);
        assert_eq!(
            first(Arrival::Burst { period_ns: 10, count: 2, phase_ns: 0 }, 5),
            [0, 0, 10, 10, 20]
        );
        assert_eq!(first(Arrival::Trace { offsets_ns: vec![1, 5] }, 5), [1, 5]);
        let huge = Arrival::Periodic { period_ns: i64::MAX / 2, phase_ns: 9 };
        assert_eq!(DueTimes::new(huge).count(), 2, "what an i64 cannot hold ends the schedule");
        let poisson = first(Arrival::Poisson { rate_hz: 1000.0, seed: 3 }, 10_000);
        assert!(poisson.windows(2).all(|w| w[0] <= w[1]));
        // The 10 000th arrival is at 10 s; its standard deviation is 1 %.
        assert!((poisson[9_999] - 10_000_000_000).abs() < 500_000_000, "{}", poisson[9_999]);
        assert_eq!(poisson, first(Arrival::Poisson { rate_hz: 1000.0, seed: 3 }, 10_000));
    }

    #[test]
    fn late_messages_are_sent_late_with_their_intended_times_and_the_rest_is_never_sent() {
        let log = Log::default();
        let slow = slot(1, &log, Duration::from_millis(3));
        let arrival = Arrival::Periodic { period_ns: 1_000_000, phase_ns: 0 };
        let (at_ns, events) = go(vec![Scheduled { slot: slow, arrival }], 20_000_000, 10_000_000);
        let log = log.lock().unwrap();
        for (k, (intended_ns, seq)) in log.iter().enumerate() {
            assert_eq!((*intended_ns, *seq), (at_ns + k as i64 * 1_000_000, k as u64));
        }
        let Event::Finished { scheduled, sent, never_sent, last_seq, .. } = events[0] else {
            panic!("{events:?}")
        };
        assert_eq!((scheduled, sent), (20, log.len() as u64));
        assert_eq!(never_sent, 20 - sent);
        assert!(never_sent > 0 && last_seq == Some(sent - 1));
    }

    #[test]
    fn one_thread_serves_many_publishers_in_order_of_their_times() {
        let log = Log::default();
        let arrival = |phase_ns| Arrival::Periodic { period_ns: 2_000_000, phase_ns };
        let publishers = (0..4).map(|i| Scheduled {
            slot: slot(i + 1, &log, Duration::ZERO),
            arrival: arrival(i64::from(i) * 500_000),
        });
        let (_, events) = go(publishers.collect(), 20_000_000, 50_000_000);
        assert_eq!(events.len(), 4);
        let log = log.lock().unwrap();
        assert_eq!(log.len(), 40);
        assert!(log.windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn a_stop_interrupts_a_long_sleep() {
        let log = Log::default();
        let slow = slot(1, &log, Duration::ZERO);
        let interrupt = Arc::new(Interrupt::new().unwrap());
        let at_ns = now_ns();
        let start = Start {
            at_ns,
            steady_ns: at_ns,
            end_ns: at_ns + 60_000_000_000,
            grace_ns: 0,
            endpoints: None,
            schedule: Schedule::Own,
        };
        let thread = {
            let (slow, interrupt) = (slow.clone(), interrupt.clone());
            std::thread::spawn(move || {
                let arrival = Arrival::Periodic { period_ns: 30_000_000_000, phase_ns: 0 };
                run(vec![Scheduled { slot: slow, arrival }], &start, &interrupt, &|_| {});
            })
        };
        while log.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        slow.stop_ns.store(now_ns(), Ordering::Release);
        interrupt.raise();
        thread.join().unwrap(); // a missed wake-up would hold the test for a minute
        assert_eq!(log.lock().unwrap().len(), 1);
    }

    /// Measures how much later than requested a sleep of its thread ends.
    struct Sleeper(Arc<Mutex<Vec<i32>>>);

    impl Endpoint for Sleeper {
        fn matched(&self) -> u32 {
            1
        }
        fn granted(&self) -> Granted {
            unimplemented!("the schedule never asks")
        }
        fn account(&self) -> Account {
            Account::default()
        }
    }

    fn timer_slack_ns() -> i32 {
        // SAFETY: the call takes no argument of ours and touches no memory.
        unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }
    }

    impl Publisher for Sleeper {
        fn publish(&mut self, _: &[u8]) -> Result<(), PublishError> {
            self.0.lock().unwrap().push(timer_slack_ns());
            Ok(())
        }
    }

    #[test]
    fn what_a_publish_call_sleeps_ends_as_in_a_users_thread() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let parts = Recorder {
            section: None,
            endpoint: 1,
            nonce: 1,
            payload_bytes: 64,
            touched_bytes: 0,
            loan: false,
        };
        let publisher = RecordedPublisher::new(Box::new(Sleeper(seen.clone())), parts);
        let slot = PublisherSlot::new(1, publisher);
        let arrival = Arrival::Periodic { period_ns: 1_000_000, phase_ns: 0 };
        go(vec![Scheduled { slot, arrival }], 3_000_000, 1_000_000_000);
        assert_eq!(*seen.lock().unwrap(), [timer_slack_ns(); 3]);
    }

    #[test]
    fn saturation_stops_at_its_limit() {
        let log = Log::default();
        let (_, events) = go(
            vec![Scheduled {
                slot: slot(1, &log, Duration::ZERO),
                arrival: Arrival::Saturation { limit: 500 },
            }],
            5_000_000_000,
            0,
        );
        let Event::Finished { sent, .. } = events[0] else { panic!("{events:?}") };
        assert_eq!((sent, log.lock().unwrap().len()), (500, 500));
    }
}
