//! A session: this process as a node of the ROS graph, and the queues of callbacks that its
//! endpoints share.
//!
//! ROS 1 has one node per process, so nodes here are only names. It has no domains either: a domain
//! other than 0 is a namespace.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use rmwbench_harness::middleware::{
    Configuration, Endpoint, EndpointConfig, Error, Handler, Node, Publisher, Session,
    SessionConfig, Sink, Subscription, Wait,
};

use crate::client::RosClient;
use crate::publisher::RosPublisher;
use crate::service::RosService;
use crate::settings::Settings;
use crate::subscription::RosSubscription;
use crate::{master, sys};

/// The time that ros::spin(), too, waits at a time.
const TURN_S: f64 = 0.1;

pub struct RosSession(Arc<Shared>);

pub struct Shared {
    pub settings: Settings,
    namespace: String,
    queues: Mutex<[Option<Arc<Queue>>; 3]>,
}

/// A queue of callbacks with the thread that calls them.
pub struct Queue {
    queue: *mut sys::Queue,
    closing: Arc<AtomicBool>,
    /// None if roscpp's own AsyncSpinner calls.
    thread: Option<JoinHandle<()>>,
}

struct Address(*mut sys::Queue);

// SAFETY: roscpp's queues may be used from any thread.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl RosSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        let settings = Settings::of(config)?;
        if !master::is_running() {
            let message =
                "no master serves this host: an arm starts one with the option daemons: roscore";
            return Err(Error::failed(format!("profile {}", config.profile.name), message));
        }
        static STARTED: OnceLock<bool> = OnceLock::new();
        let started = STARTED.get_or_init(|| {
            let name = CString::new(format!("rmwbench_{}", std::process::id())).expect("digits");
            let uri = CString::new(master::uri()).expect("digits");
            // SAFETY: strings that outlive the call.
            unsafe { sys::rmwbench_ros_start(name.as_ptr(), uri.as_ptr(), !settings.no_rosout) }
        });
        if !started {
            let message =
                format!("{} does not answer, or ros::init failed: see the log", master::uri());
            return Err(Error::failed("master", message));
        }
        let namespace = if config.domain_id == 0 {
            "/".into()
        } else {
            format!("/domain_{}/", config.domain_id)
        };
        Ok(RosSession(Arc::new(Shared { settings, namespace, queues: Mutex::default() })))
    }
}

impl Session for RosSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(RosNode(self.0.clone())))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(self.0.settings.configuration())
    }
}

impl Shared {
    /// The name of a topic or service, for C.
    pub fn name(&self, config: &EndpointConfig) -> Result<CString, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/';
        if !config.topic.starts_with(|c: char| c.is_ascii_alphabetic())
            || !config.topic.chars().all(valid)
        {
            let message = format!(
                "topic {:?}: ROS 1 names have letters, digits, _ and /, a letter first",
                config.topic
            );
            return Err(Error::invalid(object(), message));
        }
        Ok(CString::new(format!("{}{}", self.namespace, config.topic)).expect("no NUL among them"))
    }

    /// The session's queue for `wait`, made at first use.
    pub fn queue(&self, wait: Wait) -> Result<Arc<Queue>, Error> {
        let place = match wait {
            Wait::Block => 0,
            Wait::Poll => 1,
            Wait::Callback => 2,
        };
        let mut queues = self.queues.lock().unwrap();
        if queues[place].is_none() {
            queues[place] = Some(Arc::new(Queue::start(wait)?));
        }
        Ok(queues[place].clone().expect("just set"))
    }
}

impl Queue {
    fn start(wait: Wait) -> Result<Self, Error> {
        let spinning = wait == Wait::Callback;
        // SAFETY: ROS is started, and the error outlives the call.
        let queue =
            sys::create("queue", |error| unsafe { sys::rmwbench_queue_new(spinning, error) })?;
        let closing = Arc::new(AtomicBool::new(false));
        let turn_s = match wait {
            Wait::Callback => return Ok(Queue { queue, closing, thread: None }),
            Wait::Block => TURN_S,
            Wait::Poll => 0.0,
        };
        let (address, theirs) = (Address(queue), closing.clone());
        let run = move || {
            let address = address; // the whole of it, which may be sent
            while !theirs.load(Ordering::Relaxed) {
                // SAFETY: the queue lives until this thread was joined.
                unsafe { sys::rmwbench_queue_call(address.0, turn_s) };
            }
        };
        let thread = std::thread::Builder::new()
            .name("waiter".into())
            .spawn(run)
            .map_err(|e| Error::failed("waiting thread", e))?;
        Ok(Queue { queue, closing, thread: Some(thread) })
    }

    pub fn as_ptr(&self) -> *mut sys::Queue {
        self.queue
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // SAFETY: ours, deleted once, when no thread calls from it.
        unsafe { sys::rmwbench_queue_delete(self.queue) };
    }
}

struct RosNode(Arc<Shared>);

impl Node for RosNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(RosPublisher::new(config, &self.0)?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(RosSubscription::new(config, sink, &self.0)?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(RosClient::new(config, sink, &self.0)?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(RosService::new(config, handler, &self.0)?))
    }
}
