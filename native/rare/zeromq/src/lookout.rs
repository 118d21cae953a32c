//! One thread that keeps a session's sockets connected to the announced endpoints, and counts the
//! peers.
//!
//! It sleeps on changes of the board's directories (inotify) and on libzmq's socket monitors: a
//! peer counts from its completed handshake to its disconnection. Over inproc, which has no
//! handshake, it counts from its announcement. Nothing here is in the path of a message.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::Error;
use zmq::{Context, PollItem, Socket, SocketEvent, SocketType};

use crate::board;
use crate::event_fd::EventFd;
use crate::link::SharedSocket;

/// The time before a disconnection: messages of a peer that left may still wait in our socket, and
/// libzmq drops them at a disconnection.
const FAREWELL: Duration = Duration::from_secs(1);
/// The time before a second look: a killed process closes its connections before its files are
/// unlocked.
const SECOND_LOOK: Duration = Duration::from_millis(200);

/// The task of the thread for a link.
pub enum Duty {
    /// Connect to every endpoint announced in the directory.
    Connect(PathBuf),
    /// Count the endpoints announced in the directory: a service over inproc has no other way to
    /// know its clients.
    Count(PathBuf),
    /// Count the peers that connect.
    Accept,
}

pub struct Lookout {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    wake: EventFd,
    orders: Mutex<Orders>,
    done: Condvar,
}

#[derive(Default)]
struct Orders {
    new: Vec<Watch>,
    gone: Vec<Arc<SharedSocket>>,
    given: u64,
    taken: u64,
    closing: bool,
}

struct Watch {
    link: Arc<SharedSocket>,
    duty: Duty,
    /// None over inproc.
    monitor: Option<Socket>,
    /// The directory's number in inotify.
    descriptor: Option<i32>,
    known: BTreeMap<String, Known>,
    /// Endpoint → the number of failed handshakes there whose disconnection event is still to come.
    failing: BTreeMap<Vec<u8>, u32>,
    look_again: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
struct Known {
    connected: bool,
    /// The endpoint is no longer announced: its connection ends at that time.
    leaves: Option<Instant>,
}

impl Lookout {
    pub fn start() -> Result<Self, Error> {
        // SAFETY: plain integers; the descriptor is ours.
        let inotify = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        if inotify < 0 {
            return Err(Error::failed("inotify", std::io::Error::last_os_error()));
        }
        // SAFETY: a fresh descriptor that nobody else holds.
        let inotify = unsafe { File::from_raw_fd(inotify) };
        let shared = Arc::new(Shared {
            wake: EventFd::new()?,
            orders: Mutex::default(),
            done: Condvar::new(),
        });
        let theirs = shared.clone();
        let run = move || theirs.run(inotify);
        let thread = std::thread::Builder::new()
            .name("lookout".into())
            .spawn(run)
            .map_err(|e| Error::failed("lookout thread", e))?;
        Ok(Lookout { shared, thread: Some(thread) })
    }

    /// Begins to watch a link; `context` is that of its socket, None over inproc.
    pub fn add(
        &self,
        link: &Arc<SharedSocket>,
        duty: Duty,
        context: Option<&Context>,
    ) -> Result<(), Error> {
        let monitor = context
            .map(|context| monitor(link, context))
            .transpose()
            .map_err(|e| Error::failed("socket monitor", e))?;
        let watch = Watch {
            link: link.clone(),
            duty,
            monitor,
            descriptor: None,
            known: BTreeMap::new(),
            failing: BTreeMap::new(),
            look_again: None,
        };
        self.shared.order(|orders| orders.new.push(watch));
        Ok(())
    }

    /// Returns when the thread has released the link.
    pub fn remove(&self, link: &Arc<SharedSocket>) {
        let given = self.shared.order(|orders| orders.gone.push(link.clone()));
        let orders = self.shared.orders.lock().unwrap();
        drop(self.shared.done.wait_while(orders, |orders| orders.taken < given).unwrap());
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.shared.order(|orders| orders.closing = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The receiving end of a link's monitor.
fn monitor(link: &SharedSocket, context: &Context) -> zmq::Result<Socket> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let address = format!("inproc://monitor-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let events = [
        SocketEvent::HANDSHAKE_SUCCEEDED,
        SocketEvent::HANDSHAKE_FAILED_NO_DETAIL,
        SocketEvent::HANDSHAKE_FAILED_PROTOCOL,
        SocketEvent::HANDSHAKE_FAILED_AUTH,
        SocketEvent::DISCONNECTED,
    ];
    let events = events.into_iter().map(|event| i32::from(event.to_raw())).sum();
    link.with_socket(|socket| socket.monitor(&address, events))?;
    let ours = context.socket(SocketType::PAIR)?;
    ours.set_linger(0)?;
    ours.connect(&address)?;
    Ok(ours)
}

impl Shared {
    fn order(&self, order: impl FnOnce(&mut Orders)) -> u64 {
        let mut orders = self.orders.lock().unwrap();
        order(&mut orders);
        orders.given += 1;
        self.wake.raise();
        orders.given
    }

    fn run(&self, inotify: File) {
        let mut watches: Vec<Watch> = Vec::new();
        loop {
            if !self.take_orders(&inotify, &mut watches) {
                return;
            }
            let now = Instant::now();
            let next = watches.iter_mut().filter_map(|watch| watch.overdue(now)).min();
            let timeout_ms =
                next.map_or(-1, |next| next.saturating_duration_since(now).as_millis() as i64 + 1);
            let mut items = vec![
                PollItem::from_fd(self.wake.fd(), zmq::POLLIN),
                PollItem::from_fd(inotify.as_raw_fd(), zmq::POLLIN),
            ];
            items.extend(
                watches.iter().filter_map(|w| Some(w.monitor.as_ref()?.as_poll_item(zmq::POLLIN))),
            );
            let _ = zmq::poll(&mut items, timeout_ms);
            self.wake.clear();
            let changed = changed_directories(&inotify);
            for watch in &mut watches {
                if watch.descriptor.is_some_and(|d| changed.contains(&d)) {
                    watch.look();
                }
                watch.hear();
            }
        }
    }

    /// Executes orders of other threads; returns false when the thread must end.
    fn take_orders(&self, inotify: &File, watches: &mut Vec<Watch>) -> bool {
        let mut orders = self.orders.lock().unwrap();
        for mut watch in orders.new.drain(..) {
            if let Duty::Connect(directory) | Duty::Count(directory) = &watch.duty {
                watch.descriptor = watch_directory(inotify, directory);
                watch.look();
            }
            watches.push(watch);
        }
        for gone in orders.gone.drain(..) {
            watches.retain(|watch| !Arc::ptr_eq(&watch.link, &gone));
        }
        orders.taken = orders.given;
        self.done.notify_all();
        !orders.closing
    }
}

impl Watch {
    /// Makes the connections agree with the board.
    fn look(&mut self) {
        let announced = match &self.duty {
            Duty::Connect(directory) => board::read(directory),
            Duty::Count(directory) => {
                self.link.peers.store(board::read(directory).len() as u32, Ordering::SeqCst);
                return;
            }
            Duty::Accept => return,
        };
        for (_, known) in self
            .known
            .iter_mut()
            .filter(|(address, known)| known.leaves.is_none() && !announced.contains(address))
        {
            known.leaves = Some(Instant::now() + FAREWELL);
        }
        for address in announced {
            if self.known.contains_key(&address) {
                continue;
            }
            match self.link.with_socket(|socket| socket.connect(&address)) {
                Ok(()) => drop(self.known.insert(address, Known::default())),
                Err(error) => eprintln!("ZeroMQ: connecting to {address}: {error}"),
            }
        }
        self.count();
    }

    /// Executes what is due; returns the next due time.
    fn overdue(&mut self, now: Instant) -> Option<Instant> {
        if self.look_again.is_some_and(|at| at <= now) {
            self.look_again = None;
            self.look();
        }
        let due: Vec<String> = self
            .known
            .iter()
            .filter(|(_, k)| k.leaves.is_some_and(|at| at <= now))
            .map(|(address, _)| address.clone())
            .collect();
        for address in due {
            self.known.remove(&address);
            // An error means that libzmq has already closed it.
            let _ = self.link.with_socket(|socket| socket.disconnect(&address));
        }
        self.known.values().filter_map(|k| k.leaves).chain(self.look_again).min()
    }

    /// Reads the monitor's events.
    fn hear(&mut self) {
        while let Some(parts) =
            self.monitor.as_ref().and_then(|monitor| monitor.recv_multipart(zmq::DONTWAIT).ok())
        {
            let [event, endpoint] = parts.as_slice() else { continue };
            let Some(&[low, high]) = event.get(..2) else { continue };
            match SocketEvent::from_raw(u16::from_le_bytes([low, high])) {
                SocketEvent::HANDSHAKE_SUCCEEDED => self.connected(endpoint, true),
                // The disconnection event of a failed handshake follows, and is not that of a peer.
                SocketEvent::DISCONNECTED if self.take_failure(endpoint) => {}
                SocketEvent::DISCONNECTED => {
                    self.connected(endpoint, false);
                    self.look();
                    self.look_again = Some(Instant::now() + SECOND_LOOK);
                }
                SocketEvent::MONITOR_STOPPED => {}
                _ => {
                    eprintln!(
                        "ZeroMQ: a handshake failed at {}",
                        String::from_utf8_lossy(endpoint)
                    );
                    *self.failing.entry(endpoint.clone()).or_default() += 1;
                }
            }
        }
    }

    /// Whether the endpoint's disconnection event belongs to a handshake that failed there.
    fn take_failure(&mut self, endpoint: &[u8]) -> bool {
        let Some(count) = self.failing.get_mut(endpoint) else { return false };
        *count -= 1;
        if *count == 0 {
            self.failing.remove(endpoint);
        }
        true
    }

    fn connected(&mut self, endpoint: &[u8], connected: bool) {
        if let Duty::Accept = self.duty {
            let peers = &self.link.peers;
            let change =
                |count: u32| if connected { count.checked_add(1) } else { count.checked_sub(1) };
            let _ = peers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
            return;
        }
        if let Some((_, known)) =
            self.known.iter_mut().find(|(address, _)| address.as_bytes() == endpoint)
        {
            known.connected = connected;
        }
        self.count();
    }

    fn count(&self) {
        let inproc = self.monitor.is_none();
        let counts = |known: &&Known| if inproc { known.leaves.is_none() } else { known.connected };
        self.link.peers.store(self.known.values().filter(counts).count() as u32, Ordering::SeqCst);
    }
}

fn watch_directory(inotify: &File, directory: &Path) -> Option<i32> {
    let path = std::ffi::CString::new(directory.as_os_str().as_bytes()).ok()?;
    // SAFETY: the descriptor is ours and the string outlives the call.
    let descriptor = unsafe {
        libc::inotify_add_watch(
            inotify.as_raw_fd(),
            path.as_ptr(),
            libc::IN_MOVED_TO | libc::IN_DELETE,
        )
    };
    if descriptor < 0 {
        let error = std::io::Error::last_os_error();
        eprintln!("ZeroMQ: watching {}: {error}", directory.display());
        return None;
    }
    Some(descriptor)
}

fn changed_directories(mut inotify: &File) -> Vec<i32> {
    let mut changed = Vec::new();
    let mut buffer = [0_u8; 1 << 14];
    loop {
        let count = match inotify.read(&mut buffer) {
            Ok(count) if count > 0 => count,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            _ => return changed,
        };
        let mut rest = &buffer[..count];
        // `struct inotify_event`: four words, the last of which is the length of the name after
        // them.
        while let Some((head, tail)) = rest.split_at_checked(size_of::<libc::inotify_event>()) {
            let word = |at: usize| <[u8; 4]>::try_from(&head[at..at + 4]).expect("four bytes");
            changed.push(i32::from_ne_bytes(word(0)));
            rest = tail.get(u32::from_ne_bytes(word(12)) as usize..).unwrap_or_default();
        }
    }
}
