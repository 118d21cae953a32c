//! How `block` and `poll` wait: on hiroz's own queue of each subscription, which the harness's
//! receive loop empties.
//!
//! hiroz waits for one queue at a time, and 200 nodes must not need 200 threads. Its feature `rmw`
//! has the function by which its own RMW waits: a call whenever a message was queued. Here that
//! call informs the session's loop which queue it was.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{Error, Wait};
use rmwbench_harness::pump::{Announcements, Announcing, Pumps, Registration, Source};

/// Takes one message from a queue and delivers it; returns whether there was one. The argument is
/// when the wait returned, 0 if no thread waits.
pub type Take = Box<dyn Fn(i64) -> bool + Send + Sync>;

/// A subscription as its loop sees it.
pub struct Reader {
    take: Take,
    bell: Arc<Bell>,
}

/// The receive loops of a session, and the queues for which the blocking one waits.
#[derive(Default)]
pub struct Readers {
    pumps: Pumps<Reader>,
    announced: Arc<Announcements>,
}

/// hiroz calls it when it has queued a message.
pub struct Bell {
    /// The loop knows the queue by this token; [`NOBODY`] if it does not block on it.
    token: AtomicUsize,
    rung: AtomicU64,
    announced: Arc<Announcements>,
}

const NOBODY: usize = usize::MAX;

impl Readers {
    pub fn bell(&self) -> Arc<Bell> {
        Arc::new(Bell {
            token: AtomicUsize::new(NOBODY),
            rung: AtomicU64::new(0),
            announced: self.announced.clone(),
        })
    }

    /// From now on the loop for `wait` takes, until the result is dropped.
    pub fn add(
        &self,
        wait: Wait,
        bell: Arc<Bell>,
        take: Take,
    ) -> Result<Registration<Reader>, Error> {
        self.pumps.add(wait, Arc::new(Reader { take, bell }), || Ok(self.announced.wait_set()))
    }
}

impl Bell {
    /// Called by Zenoh's threads, or by the publisher's own if both ends are in this session.
    pub fn ring(&self) {
        self.rung.fetch_add(1, Ordering::Relaxed);
        let token = self.token.load(Ordering::Acquire);
        if token != NOBODY {
            self.announced.announce(token);
        }
    }

    /// The number of messages that were queued so far.
    pub fn rung(&self) -> u64 {
        self.rung.load(Ordering::Relaxed)
    }
}

impl Source for Reader {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        (self.take)(notified_ns)
    }
}

impl Announcing for Reader {
    fn announce_by(&self, token: Option<usize>) {
        self.bell.token.store(token.unwrap_or(NOBODY), Ordering::Release);
    }
}
