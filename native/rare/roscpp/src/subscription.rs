//! A topic's subscription. roscpp copies a message twice: from the socket, and at deserialisation
//! in the thread that calls back; `notified` is taken before the latter.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Evidence, Granted, PublishMode, Sink,
    Subscription, TakenAs, WhenFull,
};

use crate::qos;
use crate::session::{Queue, Shared};
use crate::sys;

pub struct RosSubscription {
    subscriber: *mut sys::Subscriber,
    /// Its address is the subscriber's context.
    intake: Box<Intake>,
    udp: bool,
    granted: Granted,
    _queue: Arc<Queue>,
}

struct Intake {
    sink: Arc<dyn Sink>,
    from_others: AtomicU64,
    serialised_within: AtomicU64,
    very_objects: AtomicU64,
}

// SAFETY: roscpp's subscribers may be used from any thread.
unsafe impl Send for RosSubscription {}

impl RosSubscription {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        session: &Shared,
    ) -> Result<Self, Error> {
        let topic = qos::topic(config, &session.settings)?;
        let name = session.name(config)?;
        let queue = session.queue(config.wait)?;
        let zero = AtomicU64::default;
        let intake = Box::new(Intake {
            sink,
            from_others: zero(),
            serialised_within: zero(),
            very_objects: zero(),
        });
        let context = (&raw const *intake).cast_mut().cast();
        let (udp, nodelay) = (session.settings.udp, session.settings.tcp_nodelay);
        let subscriber = sys::create(format!("endpoint {}", config.endpoint), |error| {
            // SAFETY: queue and context live until the subscriber was deleted, the error outlives
            // the call.
            unsafe {
                sys::rmwbench_subscriber_new(
                    name.as_ptr(),
                    topic.queue_size,
                    udp,
                    nodelay,
                    queue.as_ptr(),
                    deliver,
                    context,
                    error,
                )
            }
        })?;
        let when_full = Some(match topic.granted.when_full {
            Some(WhenFull::NeverFull) => WhenFull::NeverFull,
            _ => WhenFull::DropsAtReader,
        });
        let granted = Granted {
            publish_mode: PublishMode::Default,
            take: Some(TakenAs::Typed),
            when_full,
            ..topic.granted
        };
        Ok(RosSubscription { subscriber, intake, udp, granted, _queue: queue })
    }
}

unsafe extern "C" fn deliver(context: *mut c_void, message: *const sys::Message) {
    // SAFETY: the intake of `RosSubscription::new` and a message that is valid for this call.
    let (intake, message) = unsafe { (&*context.cast::<Intake>(), &*message) };
    let count = match message.path {
        sys::VERY_OBJECT => &intake.very_objects,
        sys::SERIALISED_WITHIN => &intake.serialised_within,
        _ => &intake.from_others,
    };
    count.fetch_add(1, Ordering::Relaxed);
    intake.sink.deliver(&Delivery {
        notified_ns: message.notified_ns,
        taken_ns: message.taken_ns,
        // SAFETY: as above.
        payload: unsafe { message.payload() },
        zero_copy: message.path == sys::VERY_OBJECT,
        lossy: false,
    });
}

impl Subscription for RosSubscription {}

impl Endpoint for RosSubscription {
    fn matched(&self) -> u32 {
        // SAFETY: the subscriber exists.
        unsafe { sys::rmwbench_subscriber_matched(self.subscriber) }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let evidence = |path: &str, count: &AtomicU64, note: &str| Evidence {
            path: path.into(),
            messages: count.load(Ordering::Relaxed),
            note: note.into(),
        };
        let others = if self.udp { ("udp", "UDPROS") } else { ("tcp", "TCPROS") };
        let evidence = vec![
            evidence(others.0, &self.intake.from_others, others.1),
            evidence(
                "intra_process",
                &self.intake.very_objects,
                "the very object that was published",
            ),
            evidence(
                "intra_process",
                &self.intake.serialised_within,
                "serialised and deserialised within the process",
            ),
        ];
        Account {
            evidence: evidence.into_iter().filter(|e| e.messages > 0).collect(),
            ..Account::default()
        }
    }
}

impl Drop for RosSubscription {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once; it waits for a callback that is under way.
        unsafe { sys::rmwbench_subscriber_delete(self.subscriber) };
    }
}
