//! A service: a ROUTER socket, which knows the sender of each request and sends the answer there.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Evidence, Granted, Handler,
};
use zmq::{Message, SocketType};

use crate::board::{self, Announcement, Kind};
use crate::link::SharedSocket;
use crate::lookout::Duty;
use crate::publisher::failed;
use crate::qos;
use crate::session::Shared;
use crate::settings::Transport;
use crate::socket;
use crate::waiter::{Intake, Waiter, Watched};

pub struct ZmqService {
    _announcement: Announcement,
    server: Arc<Server>,
    watched: Arc<Watched>,
    waiter: Arc<Waiter>,
    granted: Granted,
    session: Arc<Shared>,
}

struct Server {
    link: Arc<SharedSocket>,
    handler: Arc<dyn Handler>,
    zero_copy: bool,
    requests: AtomicU64,
}

impl ZmqService {
    pub fn new(
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
        session: Arc<Shared>,
    ) -> Result<Self, Error> {
        qos::check_wait(config)?;
        let queues = qos::queues(config, &session.settings)?;
        let failed = |e| Error::failed(format!("endpoint {}: ROUTER socket", config.endpoint), e);
        let socket = socket::open(&session.context, SocketType::ROUTER, &session.settings, queues)
            .map_err(failed)?;
        let directory = session.board.directory(Kind::Service, &config.topic)?;
        let address = session.board.fresh_address(session.settings.transport);
        let bound = socket::bind(&socket, &address).map_err(failed)?;
        let waiter = session.waiter(config.wait)?;
        let link = SharedSocket::new(socket, waiter.wake()).map_err(failed)?;
        let inproc = session.settings.transport == Transport::IntraProcess;
        let duty = if inproc {
            Duty::Count(session.board.directory(Kind::Client, &config.topic)?)
        } else {
            Duty::Accept
        };
        session.lookout()?.add(&link, duty, session.monitored())?;
        let server =
            Arc::new(Server { link, handler, zero_copy: inproc, requests: AtomicU64::new(0) });
        let watched = waiter.add(server.clone());
        let announcement = board::announce(&directory, &bound)?;
        let granted = qos::granted(config, queues, socket::notes(&session.settings));
        Ok(ZmqService { _announcement: announcement, server, watched, waiter, granted, session })
    }
}

impl Drop for ZmqService {
    fn drop(&mut self) {
        if let Ok(lookout) = self.session.lookout() {
            lookout.remove(&self.server.link);
        }
        self.waiter.remove(&self.watched);
    }
}

impl Intake for Server {
    fn fd(&self) -> RawFd {
        self.link.fd()
    }

    fn take(&self, notified_ns: i64) -> bool {
        let socket = self.link.lock();
        let Ok(client) = socket.recv_msg(zmq::DONTWAIT) else { return false };
        let request = socket.recv_msg(zmq::DONTWAIT);
        drop(socket);
        let Ok(request) = request else { return false };
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.handler.handle(
            &Delivery::taken(notified_ns, &request, self.zero_copy),
            &mut |reply: &[u8]| {
                let socket = self.link.lock();
                socket.send(&*client, zmq::SNDMORE | zmq::DONTWAIT).map_err(failed)?;
                socket.send(Message::from(reply), zmq::DONTWAIT).map_err(failed)
            },
        );
        true
    }
}

impl Endpoint for ZmqService {
    fn matched(&self) -> u32 {
        self.server.link.peers()
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let evidence = Evidence {
            path: self.session.settings.transport.path().into(),
            messages: self.server.requests.load(Ordering::Relaxed),
            note: "received by a socket that is bound to this transport alone".into(),
        };
        Account { evidence: vec![evidence], ..Account::default() }
    }
}
