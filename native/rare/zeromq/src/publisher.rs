//! A publisher: an XPUB socket, which is a PUB socket that also reports its subscriptions.
//!
//! A message is copied once, into libzmq's own block, which it then shares among the peers' queues;
//! a loan is that block, filled in place.

use std::cell::Cell;
use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, PublishError, Publisher,
};
use zmq::{Message, Socket, SocketType};

use crate::board::{self, Announcement, Kind};
use crate::qos;
use crate::session::Shared;
use crate::socket;

pub struct ZmqPublisher {
    _announcement: Announcement,
    socket: Socket,
    /// The number of subscriptions received, less those that ended.
    subscribers: Cell<u32>,
    granted: Granted,
    _session: Arc<Shared>,
}

impl ZmqPublisher {
    pub fn new(config: &EndpointConfig, session: Arc<Shared>) -> Result<Self, Error> {
        let queues = qos::queues(config, &session.settings)?;
        let failed = |e| Error::failed(format!("endpoint {}: PUB socket", config.endpoint), e);
        let socket = socket::open(&session.context, SocketType::XPUB, &session.settings, queues)
            .map_err(failed)?;
        let directory = session.board.directory(Kind::Topic, &config.topic)?;
        let address = session.board.fresh_address(session.settings.transport);
        let bound = socket::bind(&socket, &address).map_err(failed)?;
        let mut notes = socket::notes(&session.settings);
        notes.push(format!("bound to {bound}"));
        let announcement = board::announce(&directory, &bound)?;
        let granted = qos::granted(config, queues, notes);
        Ok(ZmqPublisher {
            _announcement: announcement,
            socket,
            subscribers: Cell::new(0),
            granted,
            _session: session,
        })
    }
}

impl Publisher for ZmqPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.socket.send(Message::from(payload), 0).map_err(failed)
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let mut message = loan(bytes);
        fill(&mut message);
        self.socket.send(message, 0).map_err(failed)
    }
}

/// A block of libzmq for a message. It is not zeroed, as no loan is, and neither would a copy be.
pub fn loan(bytes: usize) -> Message {
    // SAFETY: the block is that long; its bytes are plain ones, whatever they are, and are used
    // only in this message.
    #[allow(deprecated)]
    unsafe {
        Message::with_capacity_unallocated(bytes)
    }
}

pub fn failed(error: zmq::Error) -> PublishError {
    match error {
        zmq::Error::EAGAIN => PublishError::Full,
        _ => PublishError::Failed,
    }
}

impl Endpoint for ZmqPublisher {
    fn matched(&self) -> u32 {
        // 1: a subscription, 0: its end, also by a disconnection.
        while let Ok(event) = self.socket.recv_msg(zmq::DONTWAIT) {
            let subscribers = self.subscribers.get();
            match event.first() {
                Some(1) => self.subscribers.set(subscribers + 1),
                Some(0) => self.subscribers.set(subscribers.saturating_sub(1)),
                _ => {}
            }
        }
        self.subscribers.get()
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    /// libzmq counts no drops: only the ledger shows them.
    fn account(&self) -> Account {
        Account::default()
    }
}
