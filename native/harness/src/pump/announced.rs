//! The wait set for middlewares that call a function when a message was queued, and have no wait
//! set of their own.

use std::sync::{Arc, Condvar, Mutex};

use super::{Source, WaitSet, Waker};

/// A reader that announces, by a token of its loop, that it is no longer empty.
pub trait Announcing: Source {
    /// From now on the reader announces itself by this token; None: it does not announce itself.
    fn announce_by(&self, token: Option<usize>);
}

/// The readers of a session that have announced themselves since the loop looked last.
#[derive(Default)]
pub struct Announcements {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    tokens: Vec<usize>,
    woken: bool,
    sleeping: bool,
}

impl Announcements {
    /// Called by the middleware's threads, or by the publisher's own.
    #[inline]
    pub fn announce(&self, token: usize) {
        self.tell(|state| {
            if !state.tokens.contains(&token) {
                state.tokens.push(token);
            }
        });
    }

    /// The wait set and the waker for [`Pumps::add`](super::Pumps::add).
    pub fn wait_set(self: &Arc<Self>) -> (Announced, Waker) {
        let waking = self.clone();
        (Announced(self.clone()), Box::new(move || waking.tell(|state| state.woken = true)))
    }

    #[inline]
    fn tell(&self, what: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().expect("nothing panics with it");
        what(&mut state);
        let wake = std::mem::take(&mut state.sleeping);
        drop(state);
        if wake {
            self.changed.notify_one();
        }
    }
}

pub struct Announced(Arc<Announcements>);

impl<S: Announcing> WaitSet<S> for Announced {
    fn attach(&mut self, source: &Arc<S>, token: usize) {
        source.announce_by(Some(token));
    }

    fn detach(&mut self, source: &S, _token: usize) {
        source.announce_by(None);
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        let mut state = self.0.state.lock().expect("nothing panics with it");
        while block && state.tokens.is_empty() && !state.woken {
            state.sleeping = true;
            state = self.0.changed.wait(state).expect("nothing panics with it");
        }
        state.woken = false;
        ready.append(&mut state.tokens);
    }
}
