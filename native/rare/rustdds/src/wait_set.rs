//! RustDDS's event sources, on which the harness's receive loop blocks: a mio poll for the readers
//! of a session.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rmwbench_harness::middleware::{Error, Wait};
use rmwbench_harness::pump::{self, Pumps, Registration, Waker};
use rustdds::mio1::{self, event::Source, Events, Interest, Poll, Registry, Token};

use crate::reader::Inner;

/// The poll's own token: the waker was called.
const WOKEN: Token = Token(0);

/// The receive loops of a session, and the sources for which the blocking one waits.
pub struct Readers {
    pumps: Pumps<Inner>,
    registry: Registry,
    /// None after the first reader that blocks took it.
    wait_set: Mutex<Option<WaitSet>>,
    waker: Arc<mio1::Waker>,
}

impl Readers {
    pub fn open() -> std::io::Result<Readers> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Arc::new(mio1::Waker::new(&registry, WOKEN)?);
        let wait_set =
            WaitSet { poll, events: Events::with_capacity(256), attached: HashMap::new() };
        Ok(Readers {
            pumps: Pumps::default(),
            registry,
            wait_set: Mutex::new(Some(wait_set)),
            waker,
        })
    }

    /// Registers a reader that blocks; this is done while the reader can still be changed, before
    /// it is added. Dropping the reader removes it. `number`: from 1.
    pub fn register(&self, source: &mut dyn Source, number: usize) -> std::io::Result<()> {
        source.register(&self.registry, Token(number), Interest::READABLE)
    }

    /// From now on the loop for `wait` takes for `reader`, until the result is dropped.
    pub fn add(&self, wait: Wait, reader: Arc<Inner>) -> Result<Registration<Inner>, Error> {
        self.pumps.add(wait, reader, || {
            let wait_set = self.wait_set.lock().unwrap_or_else(|e| e.into_inner()).take();
            let wait_set = wait_set.ok_or_else(|| Error::failed("wait set", "it was lost"))?;
            let waker = self.waker.clone();
            Ok((wait_set, Box::new(move || drop(waker.wake())) as Waker))
        })
    }
}

struct WaitSet {
    poll: Poll,
    events: Events,
    /// By the readers' numbers: the loop's token, and the reader.
    attached: HashMap<usize, (usize, Arc<Inner>)>,
}

impl pump::WaitSet<Inner> for WaitSet {
    fn attach(&mut self, reader: &Arc<Inner>, token: usize) {
        self.attached.insert(reader.number, (token, reader.clone()));
    }

    fn detach(&mut self, reader: &Inner, _token: usize) {
        self.attached.remove(&reader.number);
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        let timeout = (!block).then_some(Duration::ZERO);
        match self.poll.poll(&mut self.events, timeout) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => return,
            Err(e) => {
                // No reader of this session can be woken any more: print the error, and keep
                // additions and removals working.
                eprintln!("RustDDS's event sources: {e}");
                thread::sleep(Duration::from_millis(100));
                return;
            }
        }
        for event in &self.events {
            if let Some((token, reader)) = self.attached.get(&event.token().0) {
                // This comes before messages are taken, as in RustDDS's manual: a message that
                // comes after this wakes the loop again.
                reader.drain_notifications();
                ready.push(*token);
            }
        }
    }
}
