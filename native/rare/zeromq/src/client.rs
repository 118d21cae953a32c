//! A service's client: a DEALER socket, which sends requests without waiting for answers. Answers
//! are sent to the connection of their request, so that no client ever receives another's.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, PublishError, Publisher, Sink,
};
use zmq::{Message, SocketType};

use crate::board::{self, Announcement, Kind};
use crate::publisher::{failed, loan};
use crate::qos;
use crate::session::Shared;
use crate::settings::Transport;
use crate::socket;
use crate::subscription::Reader;

pub struct ZmqClient {
    _announcement: Option<Announcement>,
    reader: Reader,
    granted: Granted,
}

impl ZmqClient {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        session: Arc<Shared>,
    ) -> Result<Self, Error> {
        let queues = qos::queues(config, &session.settings)?;
        let mut notes = socket::notes(&session.settings);
        notes.push("several services of one name take turns (DEALER)".into());
        notes.push(
            "a request finds its queue full, or no service at all: the call fails at once".into(),
        );
        let mut announcement = None;
        if session.settings.transport == Transport::IntraProcess {
            // Over inproc a service has no other way to know its clients.
            let directory = session.board.directory(Kind::Client, &config.topic)?;
            announcement = Some(board::announce(&directory, "client")?);
        }
        let reader = Reader::new(config, SocketType::DEALER, Kind::Service, sink, session)?;
        Ok(ZmqClient {
            _announcement: announcement,
            reader,
            granted: qos::granted(config, queues, notes),
        })
    }

    fn send(&self, request: Message) -> Result<(), PublishError> {
        self.reader.link().with_socket(|socket| socket.send(request, zmq::DONTWAIT)).map_err(failed)
    }
}

impl Publisher for ZmqClient {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.send(Message::from(payload))
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let mut request = loan(bytes);
        fill(&mut request);
        self.send(request)
    }
}

impl Endpoint for ZmqClient {
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
