//! The same exchange written by hand on iceoryx2's API, as by a user who wants each message's
//! latency.
//!
//! It fills and reads the whole payload as the worker does, since that is the user's work and not
//! the instrument's; it stamps a message twice, before the publish call and after the take, and
//! twice more around the writing of a loan. It waits on a wait set, as a user with more than one
//! subscription does, or in the listener itself, which is enough for one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::JoinHandle;
use std::time::Duration;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::{event, publish_subscribe};
use rmwbench_bench::{write_message, Arrivals, ByHand, Round};
use rmwbench_harness::clock::now_ns;

/// Where the reader's thread waits for the next event.
#[derive(Clone, Copy)]
pub enum Waits {
    OnWaitSet,
    InListener,
}

pub struct Bare {
    publisher: Publisher<ipc::Service, [u8], ()>,
    notifier: Notifier<ipc::Service>,
    message: Vec<u8>,
    loan: bool,
    call_ns: Vec<i64>,
    reader: Arc<Reader>,
    thread: Option<JoinHandle<()>>,
    _node: Node<ipc::Service>,
}

struct Reader {
    arrivals: Arrivals,
    stop: AtomicBool,
}

type AnyError = Box<dyn std::error::Error>;

impl Bare {
    /// `config` is what the worker gets from its profile; the service is what the worker derives
    /// from reliable keep-last 10.
    pub fn open(
        config: &Config,
        round: &Round,
        loan: bool,
        waits: Waits,
    ) -> Result<Bare, AnyError> {
        let node = node(config)?;
        let (service, event) = services(&node)?;
        let publisher = service
            .publisher_builder()
            .initial_max_slice_len(round.load.payload_bytes as usize)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()?;
        let notifier = event.notifier_builder().create()?;
        let reader = Arc::new(Reader {
            arrivals: Arrivals::new(round.messages()),
            stop: AtomicBool::new(false),
        });
        let (ready, is_ready) = mpsc::channel();
        let (theirs, config) = (reader.clone(), config.clone());
        let thread = std::thread::spawn(move || {
            if let Err(error) = read(&theirs, &config, &ready, waits) {
                eprintln!("bare reader: {error}");
            }
        });
        is_ready.recv_timeout(Duration::from_secs(10))?;
        let message = vec![0xA5; round.load.payload_bytes as usize];
        let call_ns = Vec::with_capacity(round.messages());
        Ok(Bare {
            publisher,
            notifier,
            message,
            loan,
            call_ns,
            reader,
            thread: Some(thread),
            _node: node,
        })
    }
}

fn node(config: &Config) -> Result<Node<ipc::Service>, AnyError> {
    Ok(NodeBuilder::new()
        .config(config)
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<ipc::Service>()?)
}

type Services =
    (publish_subscribe::PortFactory<ipc::Service, [u8], ()>, event::PortFactory<ipc::Service>);

fn services(node: &Node<ipc::Service>) -> Result<Services, AnyError> {
    let service = node
        .service_builder(&"bare".try_into()?)
        .publish_subscribe::<[u8]>()
        .enable_safe_overflow(false)
        .subscriber_max_buffer_size(10)
        .history_size(0)
        .open_or_create()?;
    Ok((service, node.service_builder(&"bare".try_into()?).event().open_or_create()?))
}

fn read(
    reader: &Reader,
    config: &Config,
    ready: &mpsc::Sender<()>,
    waits: Waits,
) -> Result<(), AnyError> {
    let node = node(config)?;
    let (service, event) = services(&node)?;
    let listener = event.listener_builder().create()?;
    let subscriber = service.subscriber_builder().create()?;
    ready.send(())?;
    match waits {
        Waits::OnWaitSet => wait_on_set(reader, &listener, &subscriber),
        Waits::InListener => wait_in_listener(reader, &listener, &subscriber),
    }
}

type Taken = Subscriber<ipc::Service, [u8], ()>;

fn wait_in_listener(
    reader: &Reader,
    listener: &Listener<ipc::Service>,
    subscriber: &Taken,
) -> Result<(), AnyError> {
    while !reader.stop.load(Ordering::Relaxed) {
        listener.blocking_wait(|_| {})?;
        take_all(reader, subscriber)?;
    }
    Ok(())
}

fn wait_on_set(
    reader: &Reader,
    listener: &Listener<ipc::Service>,
    subscriber: &Taken,
) -> Result<(), AnyError> {
    let wait_set = WaitSetBuilder::new()
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<ipc::Service>()?;
    let attached = wait_set.attach_notification(listener)?;
    while !reader.stop.load(Ordering::Relaxed) {
        let mut outcome = Ok(());
        wait_set.wait_and_process_once(|id| {
            if id.has_event_from(&attached) {
                outcome = listener
                    .try_wait(|_| {})
                    .map_err(AnyError::from)
                    .and_then(|_| take_all(reader, subscriber));
            }
            CallbackProgression::Continue
        })?;
        outcome?;
    }
    Ok(())
}

fn take_all(reader: &Reader, subscriber: &Taken) -> Result<(), AnyError> {
    while let Some(sample) = subscriber.receive()? {
        let taken_ns = now_ns();
        reader.arrivals.take(sample.payload(), taken_ns);
    }
    Ok(())
}

impl ByHand for Bare {
    fn matched(&mut self) -> bool {
        true // the constructor waited for the reader
    }

    fn send(&mut self) {
        let seq = self.call_ns.len() as u64;
        if self.loan {
            let asked_ns = now_ns();
            let sample =
                self.publisher.loan_slice_uninit(self.message.len()).expect("a free chunk");
            // SAFETY: shared memory is initialised bytes.
            let mut sample = unsafe { sample.assume_init() };
            let granted_ns = now_ns();
            write_message(sample.payload_mut(), seq);
            // The wait for the loan is part of the latency, the writing is the user's work; our
            // path does the same.
            self.call_ns.push(asked_ns + now_ns() - granted_ns);
            sample.send().expect("the reader is there");
        } else {
            write_message(&mut self.message, seq);
            self.call_ns.push(now_ns());
            let sample =
                self.publisher.loan_slice_uninit(self.message.len()).expect("a free chunk");
            sample.write_from_slice(&self.message).send().expect("the reader is there");
        }
        self.notifier.notify().expect("the reader is there");
    }

    fn calls_ns(&self) -> &[i64] {
        &self.call_ns
    }

    fn arrivals(&self) -> &Arrivals {
        &self.reader.arrivals
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.reader.stop.store(true, Ordering::Relaxed);
        let _ = self.notifier.notify();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
