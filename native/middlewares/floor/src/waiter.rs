//! The receive loops of a session, with the links from which each takes: a futex word wakes the
//! loop of rings, epoll wakes the loop of sockets.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::middleware::Error;
use rmwbench_harness::pump::{Pump, Source, WaitSet, TURN};
use rustix::event::{epoll, eventfd, EventfdFlags};
use rustix::time::Timespec;

use crate::eventcount;
use crate::link::{Channel, Link};
use crate::outlet::Outlet;
use crate::wake_word::WakeWord;

pub struct Waiter {
    pump: Pump<Link>,
    links: Mutex<Vec<Arc<Link>>>,
    spins: bool,
    /// The descriptor of the word that wakes the loop, for publishers to map; None if the loop does
    /// not sleep on a word.
    pub wake_fd: Option<OwnedFd>,
}

impl Waiter {
    pub fn spinning() -> Result<Waiter, Error> {
        Waiter::of(Pump::poll("floor-spin"), None)
    }

    pub fn of_rings() -> Result<Waiter, Error> {
        let (word, fd) = WakeWord::create().map_err(|e| Error::failed("futex segment", e))?;
        let (word, woken) = (Arc::new(word), Arc::new(AtomicBool::new(false)));
        let rings = Rings { links: Vec::new(), word: word.clone(), woken: woken.clone() };
        let waker = move || {
            woken.store(true, Ordering::SeqCst);
            eventcount::wake(word.word());
        };
        Waiter::of(Pump::block("floor-wait", rings, Box::new(waker)), Some(fd))
    }

    pub fn of_sockets() -> Result<Waiter, Error> {
        let failed = |e| Error::failed("epoll", e);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let woken =
            Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?);
        epoll::add(&epoll, &*woken, epoll::EventData::new_u64(WOKEN), epoll::EventFlags::IN)
            .map_err(failed)?;
        let sockets = Sockets { epoll, woken: woken.clone(), links: Vec::new() };
        let waker = move || {
            let _ = rustix::io::write(&*woken, &1_u64.to_ne_bytes());
        };
        Waiter::of(Pump::block("floor-wait", sockets, Box::new(waker)), None)
    }

    fn of(pump: std::io::Result<Pump<Link>>, wake_fd: Option<OwnedFd>) -> Result<Waiter, Error> {
        let pump = pump.map_err(|e| Error::failed("waiting thread", e))?;
        let spins = !pump.blocks();
        Ok(Waiter { pump, links: Mutex::default(), spins, wake_fd })
    }

    /// From now on delivers the messages of `channel`. `depth`: the depth of a ring's queue, which
    /// a relay in the loop's own thread may fill and the loop must empty at the same rate.
    pub fn add(&self, id: u64, owner: u64, outlet: Outlet, channel: Channel, depth: Option<u32>) {
        let turn = depth.map_or(TURN, |depth| TURN.min(depth as usize));
        let link = Arc::new(Link::new(id, owner, outlet, channel, turn, self.spins));
        let mut links = self.links.lock().unwrap();
        links.retain(|link| !link.is_over());
        links.push(link.clone());
        self.pump.add(link);
    }

    /// The writer is gone: its remaining messages are delivered, and then the link is removed. This
    /// does not wait for that.
    pub fn close(&self, id: u64) {
        if let Some(link) = self.links.lock().unwrap().iter().find(|link| link.id == id) {
            link.close();
        }
        self.pump.wake();
    }

    /// After this returns, no message is delivered to `owner`.
    pub fn remove(&self, owner: u64) {
        let mut links = self.links.lock().unwrap();
        let of_owner = links.extract_if(.., |link| link.owner == owner).collect::<Vec<_>>();
        drop(links);
        of_owner.iter().for_each(|link| self.pump.remove(link));
    }
}

/// All rings write the one word if their reader sleeps.
struct Rings {
    links: Vec<(usize, Arc<Link>)>,
    word: Arc<WakeWord>,
    woken: Arc<AtomicBool>,
}

impl Rings {
    #[inline]
    fn look(&self, ready: &mut Vec<usize>) {
        // SAFETY: this is the loop's thread.
        let has_news = |link: &Link| unsafe { link.has_messages() } || link.is_closing();
        ready.extend(self.links.iter().filter(|(_, link)| has_news(link)).map(|(token, _)| *token));
    }
}

impl WaitSet<Link> for Rings {
    fn attach(&mut self, link: &Arc<Link>, token: usize) {
        self.links.push((token, link.clone()));
    }

    fn detach(&mut self, _link: &Link, token: usize) {
        self.links.retain(|(other, _)| *other != token);
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        self.look(ready);
        if !block || !ready.is_empty() {
            return;
        }
        let armed = eventcount::arm(self.word.word());
        self.look(ready);
        if ready.is_empty() && !self.woken.load(Ordering::SeqCst) {
            eventcount::sleep(self.word.word(), armed, None);
            self.look(ready);
        } else {
            eventcount::disarm(self.word.word());
        }
        // The reason of the wake-up is checked before the next wait: the loop checks the list, and
        // the look at the links checks those that close.
        self.woken.store(false, Ordering::SeqCst);
    }
}

/// The token of the descriptor that wakes the loop; links have other tokens.
const WOKEN: u64 = u64::MAX;
const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

struct Sockets {
    epoll: OwnedFd,
    woken: Arc<OwnedFd>,
    links: Vec<(usize, Arc<Link>)>,
}

impl Sockets {
    fn tell(&self, token: usize, ready: &mut Vec<usize>) {
        if let Some((_, link)) = self.links.iter().find(|(other, _)| *other == token) {
            // SAFETY: this is the loop's thread.
            unsafe { link.tell() };
            ready.push(token);
        }
    }
}

impl WaitSet<Link> for Sockets {
    fn attach(&mut self, link: &Arc<Link>, token: usize) {
        // SAFETY: this is the loop's thread.
        if let Some(fd) = unsafe { link.fd() } {
            // This fails only without memory; the link then delivers nothing, and the trial's
            // ledger shows it.
            let _ = epoll::add(
                &self.epoll,
                fd,
                epoll::EventData::new_u64(token as u64),
                epoll::EventFlags::IN,
            );
        }
        self.links.push((token, link.clone()));
    }

    fn detach(&mut self, link: &Link, token: usize) {
        // SAFETY: this is the loop's thread.
        if let Some(fd) = unsafe { link.fd() } {
            let _ = epoll::delete(&self.epoll, fd);
        }
        self.links.retain(|(other, _)| *other != token);
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        let mut events = [MaybeUninit::uninit(); 64];
        let timeout = if block { None } else { Some(&NO_TIME) };
        let Ok((ready_events, _)) = epoll::wait(&self.epoll, &mut events, timeout) else { return }; // a signal
        for event in ready_events {
            match event.data.u64() {
                WOKEN => {
                    let _ = rustix::io::read(&*self.woken, &mut [0_u8; 8]);
                    ready.extend(
                        self.links
                            .iter()
                            .filter(|(_, link)| link.is_closing())
                            .map(|(token, _)| *token),
                    );
                }
                token => self.tell(token as usize, ready),
            }
        }
    }
}
