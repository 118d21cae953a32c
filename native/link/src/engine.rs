//! One thread that moves frames between devices and the network in virtual time. It sleeps until a
//! frame comes or an event is due; with a quantum it wakes at most that often while there is work,
//! which costs delay and saves most of the wake-ups at high rates.

use std::io::Error;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

use rmwbench_harness::clock::{now_ns, remove_timer_slack, sleep_until};
use rustix::event::{eventfd, EventfdFlags};

use crate::network::{Network, Outside, Refused};
use crate::tap::{Tap, LARGEST_FRAME_BYTES};

/// How many frames are read from one device before the other devices and due events get their turn.
const BATCH: usize = 32;
const PRIORITY: i32 = 10;
/// The longest sleep when nothing is due; its end changes nothing.
const LONGEST_SLEEP_NS: i64 = 3_600_000_000_000;

/// How the engine waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub quantum_ns: i64,
    pub spin_ns: i64,
}

type Order = Box<dyn FnOnce(&mut Network) + Send>;

/// The other threads' access to the network, which only the engine's thread touches.
pub struct Engine {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    /// Why the thread has no real-time priority; None if it has it.
    pub other_scheduler: Option<String>,
}

impl Engine {
    /// `make` builds the network in the engine's thread; an error of it makes the start fail.
    pub fn start(
        taps: Vec<Tap>,
        waiting: Waiting,
        make: impl FnOnce() -> Result<Network, String> + Send + 'static,
    ) -> Result<Engine, String> {
        let (orders, inbox) = channel::<Order>();
        let wake = Arc::new(
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(|e| format!("eventfd: {e}"))?,
        );
        let (started, ready) = channel();
        let bell = wake.clone();
        let body = move || match make() {
            Ok(network) => {
                let other_scheduler = go_real_time().err();
                remove_timer_slack();
                let _ = started.send(Ok(other_scheduler));
                run(network, Devices { taps }, waiting, &inbox, &bell);
            }
            Err(why) => drop(started.send(Err(why))),
        };
        std::thread::Builder::new()
            .name("engine".into())
            .spawn(body)
            .map_err(|e| format!("no thread for the engine: {e}"))?;
        let other_scheduler =
            ready.recv().map_err(|_| "the engine's thread died".to_string())??;
        Ok(Engine { orders, wake, other_scheduler })
    }

    /// Runs a function on the network between two frames; returns the function's result.
    pub fn ask<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut Network) -> T + Send + 'static,
    ) -> Result<T, String> {
        let (answer, results) = channel();
        let died = || "the engine's thread died".to_string();
        self.orders
            .send(Box::new(move |network| drop(answer.send(what(network)))))
            .map_err(|_| died())?;
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
        results.recv().map_err(|_| died())
    }
}

struct Devices {
    taps: Vec<Tap>,
}

impl Outside for Devices {
    fn now_ns(&self) -> i64 {
        now_ns()
    }

    fn write(&mut self, port: usize, frame: &[u8]) -> Result<(), Refused> {
        self.taps[port].write(frame)
    }

    fn carrier(&mut self, port: usize, on: bool) -> Result<(), String> {
        self.taps[port].carrier(on)
    }
}

fn run(
    mut network: Network,
    mut devices: Devices,
    waiting: Waiting,
    inbox: &Receiver<Order>,
    bell: &OwnedFd,
) {
    let polled = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut fds: Vec<libc::pollfd> =
        devices.taps.iter().map(|tap| polled(tap.as_raw_fd())).collect();
    fds.push(polled(bell.as_raw_fd()));
    let ports = devices.taps.len();
    let mut buffer = vec![0; LARGEST_FRAME_BYTES];
    // Whether frames came in this turn, and whether more may be waiting.
    let (mut begin_ns, mut worked, mut more) = (now_ns(), false, true);
    network.watch.begin(begin_ns, waiting.quantum_ns);
    loop {
        // Waiting frames are handled before the thread waits for a quantum: the batch size must not
        // limit the rate.
        let sleep_ns = if more {
            0
        } else if worked && waiting.quantum_ns > 0 {
            sleep_until(begin_ns + waiting.quantum_ns);
            0
        } else {
            let now_ns = now_ns();
            // With a quantum, due events wait for its end, so that several frames share a wake-up.
            let rest_ns = |next_ns: i64| {
                (next_ns - now_ns).max(begin_ns + waiting.quantum_ns - now_ns) - waiting.spin_ns
            };
            let next = network.next_ns().into_iter().chain(network.watch.next_ns()).min();
            next.map_or(LONGEST_SLEEP_NS, rest_ns)
        };
        wait(&mut fds, sleep_ns.clamp(0, LONGEST_SLEEP_NS));
        begin_ns = now_ns();
        network.watch.look(begin_ns);
        network.advance(begin_ns, &mut devices);
        (worked, more) = (false, false);
        for (port, fd) in
            fds[..ports].iter_mut().enumerate().filter(|(_, fd)| fd.fd >= 0 && fd.revents != 0)
        {
            for count in 1..=BATCH {
                more |= count == BATCH;
                match devices.taps[port].read(&mut buffer) {
                    Ok(Some(bytes)) => {
                        worked = true;
                        let in_ns = now_ns();
                        network.watch.look(in_ns);
                        network.arrive(port, &buffer[..bytes], in_ns, &mut devices);
                    }
                    Ok(None) => break,
                    // The device disappeared with its host: the other devices continue.
                    Err(error) => {
                        network.read_failed(port, format!("read: {error}"));
                        fd.fd = -1;
                        break;
                    }
                }
            }
        }
        if fds[ports].revents != 0 {
            let _ = rustix::io::read(bell, &mut [0_u8; 8]);
            while let Ok(order) = inbox.try_recv() {
                order(&mut network);
            }
        }
    }
}

fn wait(fds: &mut [libc::pollfd], sleep_ns: i64) {
    let timeout =
        libc::timespec { tv_sec: sleep_ns / 1_000_000_000, tv_nsec: sleep_ns % 1_000_000_000 };
    // SAFETY: the kernel writes the events of as many descriptors as the slice has.
    let count = unsafe {
        libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, &timeout, std::ptr::null())
    };
    if count < 0 {
        // A signal came: no events were written.
        fds.iter_mut().for_each(|fd| fd.revents = 0);
    }
}

/// Sets real-time priority for the calling thread, so that due events do not wait for a busy
/// worker. Child processes do not inherit it.
pub fn go_real_time() -> Result<(), String> {
    // SAFETY: all zeros is a valid sched_param.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = PRIORITY;
    // SAFETY: the kernel reads one sched_param.
    match unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameter)
    } {
        0 => Ok(()),
        _ => Err(format!("sched_setscheduler: {}", Error::last_os_error())),
    }
}
