//! The one receive loop: a thread that takes for all readers of a session; it either blocks on the
//! middleware's wait set or spins.
//!
//! The rules that a comparison needs to be equal are here and in
//! [`Delivery::taken`](crate::middleware::Delivery::taken): how many messages a reader gets in a
//! row ([`TURN`]), what `notified_ns` means, that no reader starves another, and that removing a
//! reader waits for the message under delivery and for nothing else. A middleware supplies a
//! [`Source`] for each reader and a [`WaitSet`].
//!
//! Readers are added to and removed from a list with a version. The thread alone attaches and
//! detaches, so what a wait set returns is never stale, and a message costs one atomic load of the
//! loop's own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::{self, JoinHandle, ThreadId};

use crate::clock::now_ns;
use crate::middleware::{Error, Wait};

mod announced;

pub use announced::{Announced, Announcements, Announcing};

/// The number of messages taken from one reader before the thread looks at the others: the same for
/// every middleware.
pub const TURN: usize = 4;

/// The note that states this rule, for every reader that such a loop serves.
pub const NOTE: &str =
    "one thread takes for all readers of the process, up to 4 messages of each in its turn";

/// The same note for readers without such a loop, whose middleware announces several messages at
/// once.
pub const DRAIN_NOTE: &str =
    "callback: several messages may be announced once, so a callback takes until none is left, as its users' do; meanwhile its thread receives nothing else";

/// One reader, as the loop sees it.
pub trait Source: Send + Sync + 'static {
    /// Takes one message, if there is one, and delivers it; returns whether it took one.
    /// `notified_ns` is for [`Delivery::taken`](crate::middleware::Delivery::taken). It must not
    /// take several: a message that is taken has left the reader's history, which would then have
    /// more room than was granted.
    fn take(&self, notified_ns: i64) -> bool;

    /// The number of messages in a row: [`TURN`], or fewer if the loop's own deliveries fill
    /// shorter queues that only this loop empties.
    fn turn(&self) -> usize {
        TURN
    }

    /// Called when [`Source::take`] found no message: whether no message can come any more. The
    /// loop then removes the reader by itself.
    fn is_over(&self) -> bool {
        false
    }
}

/// A middleware's way to block on many readers. The loop's thread alone calls it, and drops it
/// before any reader that is attached.
pub trait WaitSet<S>: Send + 'static {
    /// From now on [`WaitSet::wait`] names `source` by `token`. The loop keeps `source` until it
    /// has detached it.
    fn attach(&mut self, source: &Arc<S>, token: usize);

    fn detach(&mut self, source: &S, token: usize);

    /// Waits until a reader may have messages or the waker was called; if `block` is false, it
    /// returns at once. Appends the tokens of the readers that may have messages to `ready`, which
    /// has room for all readers.
    fn wait(&mut self, block: bool, ready: &mut Vec<usize>);
}

/// Ends a [`WaitSet::wait`] from another thread, also one that is about to begin.
pub type Waker = Box<dyn Fn() + Send + Sync>;

/// The loops of a session: one blocks, one spins. The first reader with such a `wait` starts its
/// loop.
pub struct Pumps<S> {
    blocking: Mutex<Option<Arc<Pump<S>>>>,
    polling: Mutex<Option<Arc<Pump<S>>>>,
}

impl<S> Default for Pumps<S> {
    fn default() -> Self {
        Pumps { blocking: Mutex::new(None), polling: Mutex::new(None) }
    }
}

impl<S: Source> Pumps<S> {
    /// From now on the loop for `wait` takes for `source`, until the returned registration is
    /// dropped: the spinning loop for `poll`, else the blocking one. Deliveries may begin before
    /// this returns. `wait_set` makes the wait set of the blocking loop. Errors: those of
    /// `wait_set`, and no thread could be started.
    pub fn add<W: WaitSet<S>>(
        &self,
        wait: Wait,
        source: Arc<S>,
        wait_set: impl FnOnce() -> Result<(W, Waker), Error>,
    ) -> Result<Registration<S>, Error> {
        let place = if wait == Wait::Poll { &self.polling } else { &self.blocking };
        let mut place = place.lock().unwrap_or_else(|e| e.into_inner());
        let pump = match &*place {
            Some(pump) => pump.clone(),
            None => {
                let started = match wait {
                    Wait::Poll => Pump::poll("waiter"),
                    _ => wait_set()
                        .map(|(wait_set, waker)| Pump::block("waiter", wait_set, waker))?,
                };
                place
                    .insert(Arc::new(started.map_err(|e| Error::failed("waiting thread", e))?))
                    .clone()
            }
        };
        pump.add(source.clone());
        Ok(Registration { pump, source })
    }
}

/// A reader's place in a loop. Dropping it removes the reader, as [`Registration::end`] does.
pub struct Registration<S: Source> {
    pump: Arc<Pump<S>>,
    source: Arc<S>,
}

impl<S: Source> Registration<S> {
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Whether the caller is within a delivery of this loop.
    pub fn is_in_loop(&self) -> bool {
        self.pump.shared.is_own_thread()
    }

    /// Does the same as [`Pump::remove`]; a second call does nothing.
    pub fn end(&self) {
        self.pump.remove(&self.source);
    }
}

impl<S: Source> Drop for Registration<S> {
    fn drop(&mut self) {
        self.end();
    }
}

pub struct Pump<S> {
    shared: Arc<Shared<S>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared<S> {
    /// The list's version; the thread reads it before every message.
    version: AtomicU64,
    list: Mutex<List<S>>,
    seen: Condvar,
    thread: OnceLock<ThreadId>,
    waker: Option<Waker>,
}

struct List<S> {
    sources: Vec<Arc<S>>,
    version: u64,
    seen_version: u64,
    closing: bool,
}

impl<S: Source> Pump<S> {
    /// Starts a thread that blocks on `wait_set`.
    pub fn block(name: &str, wait_set: impl WaitSet<S>, waker: Waker) -> std::io::Result<Pump<S>> {
        Pump::start(name, Some(waker), move |shared| shared.block(wait_set))
    }

    /// Starts a thread that spins; it sleeps while there is no reader.
    pub fn poll(name: &str) -> std::io::Result<Pump<S>> {
        Pump::start(name, None, |shared| shared.poll())
    }

    fn start(
        name: &str,
        waker: Option<Waker>,
        run: impl FnOnce(&Shared<S>) + Send + 'static,
    ) -> std::io::Result<Pump<S>> {
        let list = List { sources: Vec::new(), version: 0, seen_version: 0, closing: false };
        let (version, seen) = (AtomicU64::new(0), Condvar::new());
        let shared = Arc::new(Shared {
            version,
            list: Mutex::new(list),
            seen,
            thread: OnceLock::new(),
            waker,
        });
        let theirs = shared.clone();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            let _ = theirs.thread.set(thread::current().id());
            run(&theirs);
            // A thread that still waits for a removal must not wait for ever.
            theirs.lock().seen_version = u64::MAX;
            theirs.seen.notify_all();
        })?;
        Ok(Pump { shared, thread: Some(thread) })
    }

    /// Adds a reader. Deliveries may begin before this returns.
    pub fn add(&self, source: Arc<S>) {
        self.shared.change(|list| list.sources.push(source));
    }

    /// Whether the thread blocks on a wait set; otherwise it spins.
    pub fn blocks(&self) -> bool {
        self.shared.waker.is_some()
    }

    /// Ends a wait that is under way or about to begin, so that the wait set looks at its readers
    /// again.
    pub fn wake(&self) {
        self.shared.wake();
    }

    /// Returns when the thread will not touch `source` again: it waits for the message under
    /// delivery, never for the traffic's end. In the loop's own thread, that is from within a
    /// delivery, it returns at once, and this delivery is the last.
    pub fn remove(&self, source: &Arc<S>) {
        let version = self.shared.change(|list| list.sources.retain(|s| !Arc::ptr_eq(s, source)));
        if !self.shared.is_own_thread() {
            let list = self.shared.lock();
            drop(self.shared.seen.wait_while(list, |list| list.seen_version < version).unwrap());
        }
    }
}

impl<S> Drop for Pump<S> {
    fn drop(&mut self) {
        self.shared.change(|list| list.closing = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The result of a turn.
#[derive(PartialEq)]
enum Turn {
    /// The reader has no more messages.
    Emptied,
    /// The reader may have more messages.
    Unfinished,
}

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, List<S>> {
        self.list.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn change(&self, change: impl FnOnce(&mut List<S>)) -> u64 {
        let mut list = self.lock();
        change(&mut list);
        list.version += 1;
        self.version.store(list.version, Ordering::Release);
        self.seen.notify_all(); // a spinning thread without readers sleeps on it
        self.wake();
        list.version
    }

    fn wake(&self) {
        if let Some(wake) = &self.waker {
            wake();
        }
    }

    fn is_own_thread(&self) -> bool {
        self.thread.get() == Some(&thread::current().id())
    }

    #[inline]
    fn is_current(&self, seen: u64) -> bool {
        self.version.load(Ordering::Acquire) == seen
    }

    /// Passes the present list to `change` and notes its version; returns the version, or None when
    /// the thread must end.
    fn update(&self, change: impl FnOnce(&[Arc<S>])) -> Option<u64> {
        let mut list = self.lock();
        change(&list.sources);
        list.seen_version = list.version;
        self.seen.notify_all();
        (!list.closing).then_some(list.version)
    }
}

impl<S: Source> Shared<S> {
    /// Gives `source` one turn. `notified_ns`: when the wait that announced the first message
    /// returned; 0 if no thread waits. The turn ends early when the list changes.
    #[inline]
    fn turn(&self, source: &S, mut notified_ns: i64, seen: u64) -> Turn {
        for left in (0..source.turn()).rev() {
            if !source.take(notified_ns) {
                if source.is_over() {
                    self.change(|list| list.sources.retain(|s| !std::ptr::eq(&**s, source)));
                }
                return Turn::Emptied;
            }
            if left == 0 || !self.is_current(seen) {
                break;
            }
            // No wait announced this further message: the thread turns to it now.
            notified_ns = if notified_ns == 0 { 0 } else { now_ns() };
        }
        Turn::Unfinished
    }

    fn block(&self, wait_set: impl WaitSet<S>) {
        let mut attached: Vec<Option<Arc<S>>> = Vec::new();
        // It is moved here so that it is dropped before `attached`.
        let mut wait_set = wait_set;
        // Readers that may have more messages than one turn took; they need not be announced again.
        let mut unfinished: Vec<usize> = Vec::new();
        let mut ready: Vec<usize> = Vec::new();
        let mut seen = u64::MAX;
        loop {
            if !self.is_current(seen) {
                let Some(version) = self.update(|sources| {
                    attach(&mut wait_set, sources, &mut attached, &mut unfinished)
                }) else {
                    return;
                };
                seen = version;
                ready.reserve(attached.len() * 2);
                unfinished.reserve(attached.len() * 2);
            }
            ready.append(&mut unfinished);
            let left_over = ready.len();
            wait_set.wait(ready.is_empty(), &mut ready);
            let notified_ns = now_ns();
            for place in 0..ready.len() {
                let token = ready[place];
                if place >= left_over && ready[..left_over].contains(&token) {
                    continue; // it had its turn
                }
                let Some(source) = attached.get(token).and_then(Option::as_ref) else { continue };
                // Only an earlier wait announced a reader that is left over, unless this one did
                // too: the thread turns to it now, and its message may have come since the wait.
                let is_announced = place >= left_over || ready[left_over..].contains(&token);
                let notified_ns = if is_announced { notified_ns } else { now_ns() };
                if !self.is_current(seen)
                    || self.turn(&**source, notified_ns, seen) == Turn::Unfinished
                {
                    unfinished.push(token);
                }
            }
            ready.clear();
        }
    }

    fn poll(&self) {
        let mut sources: Vec<Arc<S>> = Vec::new();
        while let Some(seen) = self.update(|list| sources = list.to_vec()) {
            if sources.is_empty() {
                let list = self.lock();
                drop(self.seen.wait_while(list, |list| list.version == seen).unwrap());
            }
            while self.is_current(seen) {
                for source in &sources {
                    self.turn(&**source, 0, seen);
                }
                std::hint::spin_loop();
            }
        }
    }
}

/// Makes the wait set attach exactly the readers in `sources`; tokens are places in `attached`.
fn attach<S>(
    wait_set: &mut impl WaitSet<S>,
    sources: &[Arc<S>],
    attached: &mut Vec<Option<Arc<S>>>,
    unfinished: &mut Vec<usize>,
) {
    let is_in = |one: &Arc<S>| sources.iter().any(|s| Arc::ptr_eq(s, one));
    for (token, place) in attached.iter_mut().enumerate() {
        if let Some(gone) = place.take_if(|source| !is_in(source)) {
            wait_set.detach(&gone, token);
        }
    }
    for source in sources {
        if attached.iter().flatten().any(|s| Arc::ptr_eq(s, source)) {
            continue;
        }
        let token = attached.iter().position(Option::is_none).unwrap_or(attached.len());
        attached.resize(attached.len().max(token + 1), None);
        wait_set.attach(source, token);
        attached[token] = Some(source.clone());
        // No wait may announce messages that came before the reader was attached.
        unfinished.push(token);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicUsize};
    use std::time::{Duration, Instant};

    use super::*;

    /// A reader with a number of messages, which notes the order in which readers are served.
    struct Counted {
        name: char,
        left: AtomicUsize,
        hold: Duration,
        order: Arc<Mutex<String>>,
        under_way: AtomicUsize,
    }

    impl Counted {
        fn new(name: char, messages: usize, order: &Arc<Mutex<String>>) -> Arc<Counted> {
            let (left, under_way) = (AtomicUsize::new(messages), AtomicUsize::new(0));
            Arc::new(Counted { name, left, hold: Duration::ZERO, order: order.clone(), under_way })
        }
    }

    impl Source for Counted {
        fn take(&self, _notified_ns: i64) -> bool {
            if self.left.load(Ordering::SeqCst) == 0 {
                return false;
            }
            self.under_way.store(1, Ordering::SeqCst);
            self.order.lock().unwrap().push(self.name);
            thread::sleep(self.hold);
            self.left.fetch_sub(1, Ordering::SeqCst);
            self.under_way.store(0, Ordering::SeqCst);
            true
        }
    }

    /// Announces each reader once, when it is attached: the hardest case, as with a middleware that
    /// announces only arrivals.
    struct Once {
        announced: Vec<usize>,
        woken: Arc<(Mutex<bool>, Condvar)>,
    }

    impl WaitSet<Counted> for Once {
        fn attach(&mut self, _source: &Arc<Counted>, token: usize) {
            self.announced.push(token);
        }

        fn detach(&mut self, _source: &Counted, token: usize) {
            self.announced.retain(|t| *t != token);
        }

        fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
            let (woken, changed) = &*self.woken;
            let mut is_woken = woken.lock().unwrap();
            while block && self.announced.is_empty() && !*is_woken {
                is_woken = changed.wait(is_woken).unwrap();
            }
            *is_woken = false;
            ready.append(&mut self.announced);
        }
    }

    fn blocking() -> Pump<Counted> {
        let woken = Arc::new((Mutex::new(false), Condvar::new()));
        let set = Once { announced: Vec::new(), woken: woken.clone() };
        let wake = move || {
            *woken.0.lock().unwrap() = true;
            woken.1.notify_all();
        };
        Pump::block("test", set, Box::new(wake)).unwrap()
    }

    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(30);
        while !holds() {
            assert!(Instant::now() < end, "waited in vain for {what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn what_was_announced_once_is_taken_to_its_end_and_in_turns() {
        for pump in [blocking(), Pump::poll("test").unwrap()] {
            let order = Arc::new(Mutex::new(String::new()));
            let guard = order.lock().unwrap(); // nobody is served before both are there
            let (a, b) = (Counted::new('a', 10, &order), Counted::new('b', 3, &order));
            pump.add(a.clone());
            pump.add(b.clone());
            drop(guard);
            until("all messages", || order.lock().unwrap().len() == 13);
            let order = order.lock().unwrap().clone();
            let longest = order.split('b').map(str::len).max().unwrap();
            // The first message was under way when the second reader came, and ended its turn.
            let first_b = order.find('b').unwrap();
            assert!(first_b <= TURN + 1 && longest <= 10 - first_b.min(TURN), "{order}");
            pump.remove(&a);
            pump.remove(&b);
        }
    }

    #[test]
    fn removing_waits_for_the_message_under_delivery_and_not_for_the_end_of_traffic() {
        for pump in [blocking(), Pump::poll("test").unwrap()] {
            let order = Arc::new(Mutex::new(String::new()));
            let endless = Arc::new(Counted {
                name: 'e',
                left: AtomicUsize::new(usize::MAX),
                hold: Duration::from_millis(20),
                order: order.clone(),
                under_way: AtomicUsize::new(0),
            });
            let other = Counted::new('o', 0, &order);
            pump.add(endless.clone());
            pump.add(other.clone());
            until("a delivery", || endless.under_way.load(Ordering::SeqCst) == 1);
            let taken = || usize::MAX - endless.left.load(Ordering::SeqCst);
            let before = taken();
            pump.remove(&other);
            assert!(taken() <= before + 2, "a removal let {} messages pass", taken() - before);
            pump.remove(&endless);
            let after = taken();
            assert_eq!(endless.under_way.load(Ordering::SeqCst), 0);
            thread::sleep(Duration::from_millis(60));
            assert_eq!(taken(), after);
        }
    }

    #[test]
    fn a_reader_may_be_removed_from_within_its_own_delivery() {
        struct Leaving(Mutex<Option<Arc<Pump<Leaving>>>>, Mutex<Option<Arc<Leaving>>>, AtomicUsize);
        impl Source for Leaving {
            fn take(&self, _notified_ns: i64) -> bool {
                self.2.fetch_add(1, Ordering::SeqCst);
                if let (Some(pump), Some(own)) =
                    (&*self.0.lock().unwrap(), self.1.lock().unwrap().take())
                {
                    pump.remove(&own);
                }
                true
            }
        }
        let pump = Arc::new(Pump::poll("test").unwrap());
        let leaving = Arc::new(Leaving(
            Mutex::new(Some(pump.clone())),
            Mutex::default(),
            AtomicUsize::new(0),
        ));
        *leaving.1.lock().unwrap() = Some(leaving.clone());
        pump.add(leaving.clone());
        until("the removal", || pump.shared.lock().sources.is_empty());
        drop(
            pump.shared
                .seen
                .wait_while(pump.shared.lock(), |list| list.seen_version < list.version)
                .unwrap(),
        );
        let taken = leaving.2.load(Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(leaving.2.load(Ordering::SeqCst), taken);
        leaving.0.lock().unwrap().take();
    }

    #[test]
    fn a_reader_that_is_over_is_let_go_and_a_shorter_turn_is_kept() {
        struct Short(AtomicUsize, Arc<Mutex<String>>);
        impl Source for Short {
            fn take(&self, _notified_ns: i64) -> bool {
                if self.is_over() {
                    return false;
                }
                self.0.fetch_sub(1, Ordering::SeqCst);
                self.1.lock().unwrap().push('s');
                true
            }

            fn turn(&self) -> usize {
                1
            }

            fn is_over(&self) -> bool {
                self.0.load(Ordering::SeqCst) == 0
            }
        }
        let order = Arc::new(Mutex::new(String::new()));
        let pumps = Pumps::default();
        let wait_set =
            || -> Result<(Never, Waker), Error> { unreachable!("a loop that spins needs none") };
        let guard = order.lock().unwrap(); // the first delivery waits for the second reader
        let both = [5, 5].map(|left| {
            pumps
                .add(Wait::Poll, Arc::new(Short(AtomicUsize::new(left), order.clone())), wait_set)
                .unwrap()
        });
        assert!(both.iter().all(|registration| !registration.is_in_loop()));
        let shared = both[0].pump.shared.clone();
        drop(guard);
        until("the end of both", || shared.lock().sources.is_empty());
        assert_eq!(order.lock().unwrap().len(), 10);
        drop(both); // removes what is gone: nothing to wait for
        assert!(shared.lock().sources.is_empty());
    }

    #[test]
    fn a_reader_that_no_wait_announced_is_notified_when_the_thread_turns_to_it() {
        /// A reader whose message comes while the first reader's message is under delivery.
        struct Late {
            comes: Option<Arc<Late>>,
            came_ns: AtomicI64,
            notified_ns: AtomicI64,
        }
        impl Source for Late {
            fn take(&self, notified_ns: i64) -> bool {
                if self.came_ns.load(Ordering::SeqCst) == 0
                    || self.notified_ns.load(Ordering::SeqCst) != 0
                {
                    return false;
                }
                self.notified_ns.store(notified_ns, Ordering::SeqCst);
                if let Some(next) = &self.comes {
                    thread::sleep(Duration::from_millis(1));
                    next.came_ns.store(now_ns(), Ordering::SeqCst);
                }
                true
            }
        }
        let late = |comes, came_ns| {
            let (came_ns, notified_ns) = (AtomicI64::new(came_ns), AtomicI64::new(0));
            Arc::new(Late { comes, came_ns, notified_ns })
        };
        let second = late(None, 0);
        let first = late(Some(second.clone()), 1);
        // The state of the loop after it attached both readers: neither has had a turn, and nothing
        // is announced.
        let list = List {
            sources: vec![first.clone(), second.clone()],
            version: 0,
            seen_version: 0,
            closing: false,
        };
        let shared = Arc::new(Shared {
            version: AtomicU64::new(0),
            list: Mutex::new(list),
            seen: Condvar::new(),
            thread: OnceLock::new(),
            waker: Some(Box::new(|| ())),
        });
        let theirs = shared.clone();
        let thread = thread::spawn(move || theirs.block(Never));
        until("the second message", || second.notified_ns.load(Ordering::SeqCst) != 0);
        shared.change(|list| list.closing = true);
        thread.join().unwrap();
        let came_ns = second.came_ns.load(Ordering::SeqCst);
        assert!(second.notified_ns.load(Ordering::SeqCst) >= came_ns);
    }

    /// A wait set that is never made, or never announces a reader.
    struct Never;

    impl<S> WaitSet<S> for Never {
        fn attach(&mut self, _source: &Arc<S>, _token: usize) {}

        fn detach(&mut self, _source: &S, _token: usize) {}

        fn wait(&mut self, _block: bool, _ready: &mut Vec<usize>) {}
    }
}
