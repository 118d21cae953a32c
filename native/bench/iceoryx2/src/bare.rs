//! The same exchange written by hand on iceoryx2's API: what a user writes who wants each message's latency.
//!
//! It fills and reads the whole payload as the worker does, since that is the user's work and not the instrument's; it stamps a
//! message twice, before the publish call and after the take. It waits on a wait set, as one does who has more than one subscription.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::JoinHandle;
use std::time::Duration;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::payload::{fill, verify};

use crate::turns::{Load, Path};

/// The sequence number; the pattern follows.
const HEAD_BYTES: usize = 8;

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
    taken_ns: Vec<AtomicI64>,
    next: AtomicU64,
    corrupt: AtomicBool,
    stop: AtomicBool,
}

type AnyError = Box<dyn std::error::Error>;

impl Bare {
    /// `config` as the worker has it from its profile; the service as it derives it from reliable keep-last 10.
    pub fn open(config: &Config, load: &Load, messages: usize, loan: bool) -> Result<Bare, AnyError> {
        let node = node(config)?;
        let service = node
            .service_builder(&"bare".try_into()?)
            .publish_subscribe::<[u8]>()
            .enable_safe_overflow(false)
            .subscriber_max_buffer_size(10)
            .history_size(0)
            .open_or_create()?;
        let event = node.service_builder(&"bare".try_into()?).event().open_or_create()?;
        let publisher = service
            .publisher_builder()
            .initial_max_slice_len(load.payload_bytes as usize)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()?;
        let notifier = event.notifier_builder().create()?;
        let reader = Arc::new(Reader {
            taken_ns: (0..messages).map(|_| AtomicI64::new(0)).collect(),
            next: AtomicU64::new(0),
            corrupt: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let (ready, is_ready) = mpsc::channel();
        let (theirs, config) = (reader.clone(), config.clone());
        let thread = std::thread::spawn(move || {
            if let Err(error) = read(&theirs, &config, &ready) {
                eprintln!("bare reader: {error}");
            }
        });
        is_ready.recv_timeout(Duration::from_secs(10))?;
        let message = vec![0xA5; load.payload_bytes as usize];
        Ok(Bare { publisher, notifier, message, loan, call_ns: Vec::with_capacity(messages), reader, thread: Some(thread), _node: node })
    }
}

fn node(config: &Config) -> Result<Node<ipc::Service>, AnyError> {
    Ok(NodeBuilder::new().config(config).signal_handling_mode(SignalHandlingMode::Disabled).create::<ipc::Service>()?)
}

fn read(reader: &Reader, config: &Config, ready: &mpsc::Sender<()>) -> Result<(), AnyError> {
    let node = node(config)?;
    let service = node
        .service_builder(&"bare".try_into()?)
        .publish_subscribe::<[u8]>()
        .enable_safe_overflow(false)
        .subscriber_max_buffer_size(10)
        .history_size(0)
        .open_or_create()?;
    let event = node.service_builder(&"bare".try_into()?).event().open_or_create()?;
    let listener = event.listener_builder().create()?;
    let subscriber = service.subscriber_builder().create()?;
    ready.send(())?;
    let wait_set = WaitSetBuilder::new().signal_handling_mode(SignalHandlingMode::Disabled).create::<ipc::Service>()?;
    let attached = wait_set.attach_notification(&listener)?;
    while !reader.stop.load(Ordering::Relaxed) {
        let mut outcome = Ok(());
        wait_set.wait_and_process_once(|id| {
            if id.has_event_from(&attached) {
                outcome = take_all(reader, &listener, &subscriber);
            }
            CallbackProgression::Continue
        })?;
        outcome?;
    }
    Ok(())
}

fn take_all(
    reader: &Reader,
    listener: &Listener<ipc::Service>,
    subscriber: &Subscriber<ipc::Service, [u8], ()>,
) -> Result<(), AnyError> {
    listener.try_wait(|_| {})?;
    while let Some(sample) = subscriber.receive()? {
        let taken_ns = now_ns();
        let payload = sample.payload();
        let seq = u64::from_le_bytes(payload[..HEAD_BYTES].try_into()?);
        if !verify(&payload[HEAD_BYTES..], 1, seq) {
            reader.corrupt.store(true, Ordering::Relaxed);
        }
        reader.taken_ns[seq as usize].store(taken_ns, Ordering::Relaxed);
        reader.next.store(seq + 1, Ordering::Release);
    }
    Ok(())
}

fn write(payload: &mut [u8], seq: u64) {
    payload[..HEAD_BYTES].copy_from_slice(&seq.to_le_bytes());
    fill(&mut payload[HEAD_BYTES..], 1, seq);
}

impl Path for Bare {
    fn ready(&mut self) -> bool {
        true // the constructor waited for the reader
    }

    fn send(&mut self, _due_ns: i64) {
        let seq = self.call_ns.len() as u64;
        if self.loan {
            let sample = self.publisher.loan_slice_uninit(self.message.len()).expect("a free chunk");
            // SAFETY: shared memory is initialised bytes.
            let mut sample = unsafe { sample.assume_init() };
            write(sample.payload_mut(), seq);
            self.call_ns.push(now_ns());
            sample.send().expect("the reader is there");
        } else {
            write(&mut self.message, seq);
            self.call_ns.push(now_ns());
            let sample = self.publisher.loan_slice_uninit(self.message.len()).expect("a free chunk");
            sample.write_from_slice(&self.message).send().expect("the reader is there");
        }
        self.notifier.notify().expect("the reader is there");
    }

    fn all_received(&self) -> bool {
        self.reader.next.load(Ordering::Acquire) >= self.call_ns.len() as u64
    }

    fn latencies_ns(&self) -> Vec<Option<f64>> {
        let taken = self.reader.taken_ns.iter().map(|t| t.load(Ordering::Relaxed));
        self.call_ns.iter().zip(taken).map(|(call, taken)| (taken != 0).then_some((taken - call) as f64)).collect()
    }

    fn intact(&self) -> bool {
        !self.reader.corrupt.load(Ordering::Relaxed)
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
