//! A writer: builds the message and stores it; RustDDS's thread sends it.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Arc;

use bytes::Bytes;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, EndpointConfig, Error, Granted, PublishError, PublishMode, Wait, WhenFull,
};
use rmwbench_harness::qos::{History, Reliability};
use rustdds::dds::qos::HasQoSPolicy as _;
use rustdds::dds::result::WriteError;
use rustdds::no_key::DataWriter;
use rustdds::{
    DataWriterStatus, RTPSEntity as _, SampleIdentity, StatusEvented as _, WriteOptionsBuilder,
    GUID,
};

use crate::peers::{Card, Side};
use crate::qos;
use crate::raw::{Layout, Raw};
use crate::session::Shared;
use crate::watch::{StatusRegistration, StatusSource};

/// How many messages RustDDS's reliable writer sends ahead of acknowledgements if its QoS does not
/// limit resources.
const WINDOW: i32 = 8192;

pub struct Writer {
    _status_registration: StatusRegistration,
    inner: Arc<Inner>,
    layout: Layout,
    granted: Granted,
    may_block: bool,
    card: Card,
    shared: Arc<Shared>,
}

struct Inner {
    writer: DataWriter<Bytes, Raw>,
    /// The number of readers whose QoS is incompatible with this writer's.
    incompatible: AtomicI32,
}

impl Writer {
    pub fn create(
        config: &EndpointConfig,
        topic: &str,
        message_type: &MessageType,
        header_bytes: usize,
        shared: &Arc<Shared>,
    ) -> Result<Writer, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.publish_mode == PublishMode::Sync {
            return Err(Error::unsupported(
                object(),
                "publish_mode sync: a write stores the message, RustDDS's own thread sends it",
            ));
        }
        if config.loan {
            return Err(Error::unsupported(object(), "loan: RustDDS lends no buffers"));
        }
        if shared.may_block == Some(false) && config.qos.reliability == Reliability::Reliable {
            return Err(Error::unsupported(
                object(),
                "mode congestion drop: a reliable writer of RustDDS always waits for room",
            ));
        }
        let policies = qos::policies(config, &shared.limits)?;
        let number = shared.status_thread.number();
        let card = Card::new(number, Side::Writer, topic, message_type, &policies);
        let topic = shared.topic(topic, message_type, &policies, &object())?;
        let writer =
            shared.publisher.create_datawriter_no_key::<Bytes, Raw>(&topic, Some(policies));
        let mut writer = writer.map_err(|e| Error::failed(object(), e))?;
        let failed = |e: std::io::Error| Error::failed(object(), e);
        shared.status_thread.register(writer.as_status_source_mio1(), number).map_err(failed)?;
        let may_block = shared.may_block.unwrap_or(false);
        let mut notes =
            vec!["a write stores the message, RustDDS's one thread sends it".to_string()];
        match config.qos.reliability {
            Reliability::Reliable => {
                let window = match config.qos.history {
                    History::KeepLast => WINDOW,
                    History::KeepAll => shared.limits.max_samples,
                };
                notes.push(format!(
                    "a write waits while the readers owe acknowledgements for {window} messages, whatever the depth"
                ))
            }
            Reliability::BestEffort if may_block => {
                notes.push("a write waits while the socket has no room".into())
            }
            Reliability::BestEffort => notes.push(
                "a message that the socket has no room for is dropped, and not counted".into(),
            ),
        }
        let qos = qos::granted(&writer.qos());
        let when_full = match config.qos.reliability {
            Reliability::Reliable => Some(WhenFull::Blocks),
            Reliability::BestEffort if may_block => Some(WhenFull::Blocks),
            Reliability::BestEffort => Some(WhenFull::DropsAtWriter),
        };
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Async,
            wait: Wait::Block,
            take: None,
            when_full,
            notes,
        };
        let inner = Arc::new(Inner { writer, incompatible: AtomicI32::new(0) });
        let status_registration =
            shared.status_thread.begin(number, inner.clone()).map_err(failed)?;
        shared.peers.enter(card.clone());
        let layout = Layout::new(message_type, header_bytes);
        Ok(Writer {
            _status_registration: status_registration,
            inner,
            layout,
            granted,
            may_block,
            card,
            shared: shared.clone(),
        })
    }

    pub fn guid(&self) -> GUID {
        self.inner.writer.guid()
    }

    /// `related`: the request that this answers, sent beside the data.
    #[inline]
    pub fn write(
        &self,
        header: &[u8],
        payload: &[u8],
        related: Option<SampleIdentity>,
    ) -> Result<(), PublishError> {
        let message = self.layout.message(header, payload);
        let options = WriteOptionsBuilder::new()
            .related_sample_identity_opt(related)
            .source_timestamp(rustdds::Timestamp::now())
            .best_effort_may_block(self.may_block)
            .build();
        match self.inner.writer.write_with_options(message, options) {
            Ok(_) => Ok(()),
            Err(WriteError::WouldBlock { .. }) => Err(PublishError::Timeout),
            Err(_) => Err(PublishError::Failed),
        }
    }
}

impl StatusSource for Inner {
    fn read_status_events(&self) {
        while let Some(status) = self.writer.try_recv_status() {
            if let DataWriterStatus::OfferedIncompatibleQos { count, .. } = status {
                self.incompatible.store(count.count(), Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.peers.leave(self.card.number);
    }
}

impl trait_::Publisher for Writer {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.write(&[], payload, None)
    }
}

impl trait_::Endpoint for Writer {
    fn matched(&self) -> u32 {
        self.shared.peers.matched(&self.card, &self.shared.participant)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let incompatible = self.inner.incompatible.load(Ordering::Relaxed);
        Account {
            counters: [("incompatible_qos".to_string(), i64::from(incompatible))].into(),
            ..Account::default()
        }
    }
}
