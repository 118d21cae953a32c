//! Publishing: loan, write, send, notify, as a user of the API does.
//!
//! A reliable publisher waits for room in a full queue that keeps all, or that is set to block
//! ([`crate::service::ReliableKeepLast`]). iceoryx2 would wait forever on a reader that was killed,
//! so the wait is bounded as in DDS (`max_blocking_time`); after that the call fails, and the
//! remains of dead processes are removed before the next call. With several readers the message may
//! then have reached some of them: the writer's record says failed, theirs say received.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use iceoryx2::port::{BackpressureAction, LoanError, SendError};
use iceoryx2::prelude::*;
use iceoryx2::sample_mut::SampleMut;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, EndpointConfig, Error, Evidence, Granted, PublishError, PublishMode, Wait,
};
use rmwbench_harness::pump::Registration;

use crate::dead_nodes::DeadNodes;
use crate::exclusive::Exclusive;
use crate::late::{Latched, Late, Ports};
use crate::service::{granted_qos, notes, Events, PubSub, Settings};
use crate::shared::Shared;
use crate::wait_set::Watched;

pub struct Iceoryx2Publisher {
    /// This is dropped first: it shares the ports.
    _joiners: Option<Registration<Watched>>,
    ports: Held,
    service: PubSub,
    reliable: bool,
    dead_nodes: DeadNodes,
    granted: Granted,
    sent: u64,
    /// The number of sends that some reader's queue did not accept.
    not_delivered: i64,
    timeouts: i64,
}

/// Ports that only the publishing thread has, or that it shares with the thread that handles late
/// joiners.
#[allow(clippy::large_enum_variant)] // one for each publisher
enum Held {
    Alone(Exclusive<Ports>),
    Shared(Arc<Latched>),
}

impl Held {
    #[inline]
    fn with<T>(&self, call: impl FnOnce(&Ports) -> T) -> T {
        match self {
            Held::Alone(ports) => call(ports.get()),
            Held::Shared(latched) => latched.with(call),
        }
    }
}

type Sample = SampleMut<ipc::Service, [u8], ()>;

impl Iceoryx2Publisher {
    pub fn create(
        service: PubSub,
        events: &Events,
        late: Option<&Late>,
        config: &EndpointConfig,
        settings: Settings,
        shared: &Shared,
    ) -> Result<Self, Error> {
        let object = format!("endpoint {}", config.endpoint);
        let failed = |e: &dyn std::fmt::Display| Error::failed(object.clone(), e);
        let reliable = settings.backpressure == BackpressureStrategy::RetryUntilDelivered;
        let mut builder = service
            .publisher_builder()
            .initial_max_slice_len(config.message_type.payload_bytes.max(1) as usize)
            .backpressure_strategy(settings.backpressure);
        if settings.blocks() {
            let max_blocking = shared.max_blocking;
            // A call that finds a joiner fills its queue with history and may then wait for room
            // there, while the joiner waits for a first event: wake it before.
            let wake = late
                .map(|_| events.notifier_builder().create())
                .transpose()
                .map_err(|e| failed(&e))?;
            // SAFETY: the notifier is not shared, and only the publish call uses it.
            let wake = wake.map(|wake| unsafe { Exclusive::new(wake) });
            builder = builder.set_backpressure_handler(move |info| {
                if let (0, Some(wake)) = (info.retries, &wake) {
                    let _ = wake.get().notify();
                }
                waited(info.elapsed_time, max_blocking)
            });
        }
        let pool = shared.modes.pool(config.message_type.payload_bytes, &object)?;
        if let Some(pool) = &pool {
            builder = builder.override_sample_preallocation(pool.preallocation());
        }
        let publisher = builder.create().map_err(|e| failed(&e))?;
        let notifier = events.notifier_builder().create().map_err(|e| failed(&e))?;
        // Readers map a new publisher's memory when they next wake: wake them now, not when the
        // first message is waiting.
        notifier.notify().map_err(|e| failed(&e))?;
        let mut notes = notes(&settings);
        if settings.blocks() {
            notes.push(format!(
                "a publish call fails after waiting {} ms",
                shared.max_blocking.as_millis()
            ));
        }
        notes.extend(pool.as_ref().map(|pool| pool.note()));
        // SAFETY: only the publishing thread uses them, or they are under `Latched`'s lock.
        let ports = unsafe { Exclusive::new(Ports { publisher, notifier }) };
        let (ports, joiners) = match late {
            None => (Held::Alone(ports), None),
            Some(late) => {
                let latched = Arc::new(Latched::new(ports));
                let joiners = late.listen(latched.clone(), shared, &object)?;
                (Held::Shared(latched), Some(joiners))
            }
        };
        let qos = granted_qos(&service, &config.qos);
        let when_full = Some(settings.when_full());
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Sync,
            wait: Wait::Block,
            take: None,
            when_full,
            notes,
        };
        Ok(Iceoryx2Publisher {
            _joiners: joiners,
            ports,
            service,
            reliable,
            dead_nodes: shared.dead_nodes.clone(),
            granted,
            sent: 0,
            not_delivered: 0,
            timeouts: 0,
        })
    }

    /// Loans, has `write` make a sample of the loan, sends it to every reader's queue and wakes the
    /// readers that block.
    #[inline]
    fn send(
        &mut self,
        bytes: usize,
        write: impl FnOnce(SampleMutUninit<ipc::Service, [MaybeUninit<u8>], ()>) -> Sample,
    ) -> Result<(), PublishError> {
        let (service, reliable) = (&self.service, self.reliable);
        let (mut not_delivered, mut timed_out) = (false, false);
        let result = self.ports.with(|ports| {
            let sample = write(ports.publisher.loan_slice_uninit(bytes).map_err(loan_error)?);
            let readers = service.dynamic_config().number_of_subscribers();
            let result = match sample.send() {
                // The message reached fewer readers than there were before and are now: a queue was
                // full, or its reader has not mapped it yet.
                Ok(reached)
                    if reached < readers
                        && reached < service.dynamic_config().number_of_subscribers() =>
                {
                    not_delivered = true;
                    if reliable {
                        Err(PublishError::Full)
                    } else {
                        Ok(())
                    }
                }
                Ok(_) => Ok(()),
                Err(SendError::UnableToDeliver) => {
                    timed_out = true;
                    Err(PublishError::Timeout)
                }
                Err(SendError::LoanError(e)) => Err(loan_error(e)),
                Err(_) => Err(PublishError::Failed),
            };
            // This is done even after a failure: other readers may have the message.
            let notified = ports.notifier.notify();
            result.and(notified.map(|_| ()).map_err(|_| PublishError::Failed))
        });
        self.not_delivered += i64::from(not_delivered);
        if timed_out {
            self.timeouts += 1;
            self.dead_nodes.sweep();
        }
        self.sent += u64::from(result.is_ok());
        result
    }
}

/// Refuses the publish mode async.
pub fn refuse_async(config: &EndpointConfig) -> Result<(), Error> {
    if config.publish_mode != PublishMode::Async {
        return Ok(());
    }
    let why = "publish_mode async: iceoryx2 hands over an offset in the caller's thread";
    Err(Error::unsupported(format!("endpoint {}", config.endpoint), why))
}

pub fn waited(elapsed: Duration, limit: Duration) -> BackpressureAction {
    if elapsed < limit {
        BackpressureAction::Retry
    } else {
        BackpressureAction::DiscardDataAndFail
    }
}

pub fn loan_error(error: LoanError) -> PublishError {
    match error {
        LoanError::OutOfMemory | LoanError::ExceedsMaxLoans => PublishError::Full,
        LoanError::ExceedsMaxLoanSize | LoanError::InternalFailure => PublishError::Failed,
    }
}

impl trait_::Publisher for Iceoryx2Publisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.send(payload.len(), |sample| sample.write_from_slice(payload))
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        self.send(bytes, |sample| {
            // SAFETY: the chunk is in mapped shared memory, whose bytes are always initialised,
            // and any byte is a valid u8.
            let mut sample = unsafe { sample.assume_init() };
            fill(sample.payload_mut());
            sample
        })
    }
}

impl trait_::Endpoint for Iceoryx2Publisher {
    fn matched(&self) -> u32 {
        self.dead_nodes.sweep();
        self.service.dynamic_config().number_of_subscribers() as u32
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        Account {
            reader_drops: None, // iceoryx2 does not count overflows of a queue
            counters: [
                ("not_delivered".to_string(), self.not_delivered),
                ("timeouts".to_string(), self.timeouts),
            ]
            .into(),
            evidence: vec![Evidence {
                path: "shm".into(),
                messages: self.sent,
                note: "written into the publisher's data segment".into(),
            }],
        }
    }
}
