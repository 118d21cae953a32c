//! The waiting threads of a session: one blocks on a wait set, one spins; each is started by the first subscription that needs it.
//!
//! Readers belong to their thread and are moved into it, so a message takes no lock. Additions and removals go through a queue; a bell
//! (a socket pair) rings the blocking thread out of its wait. A wait set borrows what is attached to it, hence it is rebuilt at each
//! change: microseconds per subscription, and never while messages flow in a steady graph.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iceoryx2::port::listener::Listener;
use iceoryx2::prelude::*;
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::Wait;

use crate::exclusive::Exclusive;

/// What a waiting thread holds: ports and where what they receive goes.
pub trait Reader {
    /// None for polling.
    fn listener(&self) -> Option<&Listener<ipc::Service>>;

    /// Delivers what is there, a bounded number at a time; whether there may be more. `notified_ns` 0: nobody waited (polling).
    fn drain(&self, notified_ns: i64) -> bool;

    /// Takes the pending notifications, so that the listener is silent until the next one. Called before messages are taken, as
    /// iceoryx2's manual has it: a message sent after this wakes us again. (Taking messages first and looking twice would hide about
    /// 2 of 15 µs from the latency; it is not what its users write.)
    fn acknowledge(&self) {
        if let Some(listener) = self.listener() {
            let _ = listener.try_wait(|_| {});
        }
    }
}

pub type Held = Exclusive<Box<dyn Reader>>;

#[derive(Default)]
pub struct Waiters {
    block: Mutex<Option<Waiter>>,
    poll: Mutex<Option<Waiter>>,
}

impl Waiters {
    /// Hands `reader` to the thread that waits in the manner of `wait`.
    pub fn add(self: &Arc<Self>, wait: Wait, reader: Held) -> std::io::Result<Registration> {
        let mut place = if wait == Wait::Poll { self.poll.lock() } else { self.block.lock() }.expect("a waiting thread panicked");
        if place.is_none() {
            *place = Some(Waiter::start(wait)?);
        }
        let waiter = place.as_mut().expect("just started");
        waiter.next_id += 1;
        waiter.send(Change::Add(waiter.next_id, reader));
        Ok(Registration { waiters: self.clone(), wait, id: waiter.next_id })
    }
}

/// A reader's place in its thread; dropping it removes the reader and returns when it is gone.
pub struct Registration {
    waiters: Arc<Waiters>,
    wait: Wait,
    id: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let (gone, wait_gone) = mpsc::channel();
        let place = if self.wait == Wait::Poll { &self.waiters.poll } else { &self.waiters.block };
        if let Some(waiter) = place.lock().expect("a waiting thread panicked").as_ref() {
            waiter.send(Change::Remove(self.id, gone));
        }
        let _ = wait_gone.recv(); // an error means that the thread has ended: gone as well
    }
}

enum Change {
    Add(u64, Held),
    Remove(u64, mpsc::Sender<()>),
    End,
}

struct Waiter {
    changes: mpsc::Sender<Change>,
    changed: Arc<AtomicBool>,
    bell: UnixStream,
    next_id: u64,
    thread: Option<JoinHandle<()>>,
}

impl Waiter {
    fn start(wait: Wait) -> std::io::Result<Waiter> {
        let (changes, inbox) = mpsc::channel();
        let changed = Arc::new(AtomicBool::new(false));
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        let mut room = Room { readers: Vec::new(), inbox, changed: changed.clone(), ended: false };
        let thread = match wait {
            Wait::Poll => thread::Builder::new().name("iceoryx2-poll".into()).spawn(move || spin(&mut room)),
            _ => thread::Builder::new().name("iceoryx2-wait".into()).spawn(move || block(&mut room, Ear::new(ear))),
        }?;
        Ok(Waiter { changes, changed, bell, next_id: 0, thread: Some(thread) })
    }

    fn send(&self, change: Change) {
        let _ = self.changes.send(change);
        self.changed.store(true, Ordering::Release);
        let _ = (&self.bell).write(&[1]); // full: it is ringing already
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.send(Change::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The readers of one thread.
struct Room {
    readers: Vec<(u64, Held)>,
    inbox: mpsc::Receiver<Change>,
    changed: Arc<AtomicBool>,
    ended: bool,
}

impl Room {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Add(id, reader) => self.readers.push((id, reader)),
            Change::Remove(id, gone) => {
                self.readers.retain(|(other, _)| *other != id);
                let _ = gone.send(());
            }
            Change::End => self.ended = true,
        }
    }

    fn apply_all(&mut self) {
        self.changed.store(false, Ordering::Release);
        while let Ok(change) = self.inbox.try_recv() {
            self.apply(change);
        }
    }
}

/// Polls every reader in turn; sleeps only while there is none.
fn spin(room: &mut Room) {
    while !room.ended {
        if room.readers.is_empty() {
            match room.inbox.recv() {
                Ok(change) => room.apply(change),
                Err(_) => return,
            }
        }
        if room.changed.load(Ordering::Acquire) {
            room.apply_all();
        }
        for (_, reader) in &room.readers {
            reader.0.drain(0);
        }
        std::hint::spin_loop();
    }
}

/// Blocks on a wait set with every reader's listener.
fn block(room: &mut Room, ear: Ear) {
    while !room.ended {
        if let Err(why) = wait_until_changed(room, &ear) {
            // No subscription of this session can hear any more: say so, and keep additions and removals going.
            eprintln!("iceoryx2 wait set: {why}");
            thread::sleep(Duration::from_millis(100));
        }
        ear.silence();
        room.apply_all();
    }
}

fn wait_until_changed(room: &Room, ear: &Ear) -> Result<(), String> {
    let set =
        WaitSetBuilder::new().signal_handling_mode(SignalHandlingMode::Disabled).create::<ipc::Service>().map_err(|e| e.to_string())?;
    let _bell = set.attach_notification(ear).map_err(|e| e.to_string())?;
    let mut guards = Vec::new();
    let mut readers = HashMap::new();
    for (_, Exclusive(reader)) in &room.readers {
        if let Some(listener) = reader.listener() {
            let guard = set.attach_notification(listener).map_err(|e| e.to_string())?;
            readers.insert(WaitSetAttachmentId::from_guard(&guard), &**reader);
            guards.push(guard);
        }
    }
    // Readers that may have more to give than one turn takes; their notifications are consumed, so nothing else would wake us for
    // them. At first everyone: what the previous wait set left unfinished is still there.
    let mut unfinished: Vec<&dyn Reader> = room.readers.iter().map(|(_, reader)| &*reader.0).collect();
    while !room.changed.load(Ordering::Acquire) {
        let mut notified_ns = 0;
        let mut more: Vec<&dyn Reader> = Vec::new();
        let on_event = |id: WaitSetAttachmentId<ipc::Service>| {
            if notified_ns == 0 {
                notified_ns = now_ns();
            }
            if let Some(&reader) = readers.get(&id) {
                reader.acknowledge();
                if reader.drain(notified_ns) {
                    more.push(reader);
                }
            }
            CallbackProgression::Continue
        };
        let waited = if unfinished.is_empty() {
            set.wait_and_process_once(on_event)
        } else {
            set.wait_and_process_once_with_timeout(on_event, Duration::ZERO)
        };
        waited.map_err(|e| e.to_string())?;
        for reader in unfinished {
            if more.iter().all(|m| !std::ptr::addr_eq(*m, reader)) && reader.drain(now_ns()) {
                more.push(reader);
            }
        }
        unfinished = more;
    }
    Ok(())
}

/// The bell's other end, as something that a wait set can hear.
#[derive(Debug)]
struct Ear {
    stream: UnixStream,
    descriptor: FileDescriptor,
}

impl Ear {
    fn new(stream: UnixStream) -> Self {
        let descriptor = FileDescriptor::non_owning_new(stream.as_raw_fd()).expect("an open socket");
        Ear { stream, descriptor }
    }

    fn silence(&self) {
        let mut rings = [0; 64];
        while matches!((&self.stream).read(&mut rings), Ok(n) if n > 0) {}
    }
}

impl FileDescriptorBased for Ear {
    fn file_descriptor(&self) -> &FileDescriptor {
        &self.descriptor
    }
}

impl SynchronousMultiplexing for Ear {}
