//! A subscription: a SUB socket connected to every publisher of its topic.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Evidence, Granted, Sink, Subscription,
};
use zmq::SocketType;

use crate::board::Kind;
use crate::link::SharedSocket;
use crate::lookout::Duty;
use crate::qos;
use crate::session::Shared;
use crate::settings::Transport;
use crate::socket;
use crate::waiter::{Intake, Waiter, Watched};

pub struct ZmqSubscription {
    reader: Reader,
    granted: Granted,
}

/// The receiving end of a subscription, or of a client that waits for its answers.
pub struct Reader {
    receiver: Arc<Receiver>,
    watched: Arc<Watched>,
    waiter: Arc<Waiter>,
    session: Arc<Shared>,
}

struct Receiver {
    link: Arc<SharedSocket>,
    sink: Arc<dyn Sink>,
    zero_copy: bool,
    messages: AtomicU64,
}

impl ZmqSubscription {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        session: Arc<Shared>,
    ) -> Result<Self, Error> {
        let reader = Reader::new(config, SocketType::SUB, Kind::Topic, sink, session)?;
        let queues = qos::queues(config, &reader.session.settings)?;
        let granted = qos::granted(config, queues, socket::notes(&reader.session.settings));
        Ok(ZmqSubscription { reader, granted })
    }
}

impl Reader {
    /// Makes the socket, connects it to the endpoints announced under the name, and adds it to the
    /// session's receiving thread.
    pub fn new(
        config: &EndpointConfig,
        kind: SocketType,
        peers: Kind,
        sink: Arc<dyn Sink>,
        session: Arc<Shared>,
    ) -> Result<Self, Error> {
        qos::check_wait(config)?;
        let queues = qos::queues(config, &session.settings)?;
        let failed = |e| Error::failed(format!("endpoint {}: socket", config.endpoint), e);
        let directory = session.board.directory(peers, &config.topic)?;
        let waiter = session.waiter(config.wait)?;
        let socket =
            socket::open(&session.context, kind, &session.settings, queues).map_err(failed)?;
        let link = SharedSocket::new(socket, waiter.wake()).map_err(failed)?;
        let zero_copy = session.settings.transport == Transport::IntraProcess;
        let receiver =
            Arc::new(Receiver { link: link.clone(), sink, zero_copy, messages: AtomicU64::new(0) });
        let watched = waiter.add(receiver.clone());
        let reader = Reader { receiver, watched, waiter, session };
        reader.session.lookout()?.add(
            &link,
            Duty::Connect(directory),
            reader.session.monitored(),
        )?;
        Ok(reader)
    }

    pub fn link(&self) -> &SharedSocket {
        &self.receiver.link
    }

    pub fn evidence(&self) -> Evidence {
        Evidence {
            path: self.session.settings.transport.path().into(),
            messages: self.receiver.messages.load(Ordering::Relaxed),
            note: "received by a socket that is connected over this transport alone".into(),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Ok(lookout) = self.session.lookout() {
            lookout.remove(&self.receiver.link);
        }
        self.waiter.remove(&self.watched);
    }
}

impl Intake for Receiver {
    fn fd(&self) -> RawFd {
        self.link.fd()
    }

    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        let received = self.link.lock().recv_msg(zmq::DONTWAIT);
        let Ok(message) = received else { return false };
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.sink.deliver(&Delivery::taken(notified_ns, &message, self.zero_copy));
        true
    }
}

impl Subscription for ZmqSubscription {}

impl Endpoint for ZmqSubscription {
    fn matched(&self) -> u32 {
        self.reader.link().peers()
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        Account { evidence: vec![self.reader.evidence()], ..Account::default() }
    }
}
