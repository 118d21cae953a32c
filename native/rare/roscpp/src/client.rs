//! A service's client. `ServiceClient::call` returns with the answer, so a thread of its own makes
//! the calls of a client one after the other; requests wait for it in a queue of the requested
//! depth.

use std::ffi::CString;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Evidence, Granted, PublishError, Publisher,
    Sink,
};

use crate::qos;
use crate::session::Shared;
use crate::sys;

/// The length of the queue if the requested history is unlimited.
const WITHOUT_LIMIT: usize = 1000;
/// How long an answer of the master is considered true.
const REMEMBERED: Duration = Duration::from_millis(50);

pub struct RosClient {
    requests: Option<SyncSender<Vec<u8>>>,
    caller: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
    service: CString,
    presence: CString,
    exists: Mutex<Option<(Instant, bool)>>,
    granted: Granted,
}

#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    /// The number of calls that returned without an answer: no service, or a broken connection.
    unanswered: AtomicU64,
}

/// Where clients of a service announce themselves: ROS 1's master lists services, not their
/// clients.
pub fn presences(service: &str) -> String {
    format!("/rmwbench_clients{service}")
}

impl RosClient {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        session: &Shared,
    ) -> Result<Self, Error> {
        let mut granted = qos::topic(config, &session.settings)?.granted;
        granted.notes = vec!["a call blocks: the calls of one client follow each other, requests wait in a queue of this worker's".into()];
        let service = session.name(config)?;
        let places = if config.qos.history == rmwbench_harness::qos::History::KeepAll {
            WITHOUT_LIMIT
        } else {
            config.qos.depth as usize
        };
        let (requests, waiting) = sync_channel(places);
        let counts = Arc::new(Counts::default());
        let (counted, name, persistent) =
            (counts.clone(), service.clone(), session.settings.persistent_services);
        let run = move || call(&waiting, &name, persistent, &*sink, &counted);
        let caller = std::thread::Builder::new()
            .name("caller".into())
            .spawn(run)
            .map_err(|e| Error::failed("calling thread", e))?;
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let presence =
            format!("{}/p{}_{number}", presences(&service.to_string_lossy()), std::process::id());
        let presence = CString::new(presence).expect("no NUL among them");
        // SAFETY: the string outlives the call.
        unsafe { sys::rmwbench_param_set(presence.as_ptr()) };
        Ok(RosClient {
            requests: Some(requests),
            caller: Some(caller),
            counts,
            service,
            presence,
            exists: Mutex::new(None),
            granted,
        })
    }
}

fn call(
    waiting: &Receiver<Vec<u8>>,
    service: &CString,
    persistent: bool,
    sink: &dyn Sink,
    counts: &Counts,
) {
    let mut client: *mut sys::Client = std::ptr::null_mut();
    while let Ok(request) = waiting.recv() {
        let mut answer = sys::Message::NONE;
        if client.is_null() {
            // SAFETY: the string and the error outlive the call.
            let new_client = sys::create("client", |error| unsafe {
                sys::rmwbench_client_new(service.as_ptr(), persistent, error)
            });
            let Ok(new_client) = new_client else {
                counts.unanswered.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            client = new_client;
        }
        // SAFETY: a client of ours and a request that outlives the call; the answer lives until the
        // next one.
        unsafe {
            if sys::rmwbench_client_call(client, request.as_ptr(), request.len(), &mut answer) {
                counts.answered.fetch_add(1, Ordering::Relaxed);
                let (notified_ns, taken_ns) = (answer.notified_ns, answer.taken_ns);
                sink.deliver(&Delivery {
                    notified_ns,
                    taken_ns,
                    payload: answer.payload(),
                    zero_copy: false,
                    lossy: false,
                });
            } else {
                counts.unanswered.fetch_add(1, Ordering::Relaxed);
                // A persistent client does not connect again.
                sys::rmwbench_client_delete(client);
                client = std::ptr::null_mut();
            }
        }
    }
    if !client.is_null() {
        // SAFETY: ours, deleted once.
        unsafe { sys::rmwbench_client_delete(client) };
    }
}

impl Publisher for RosClient {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        match self.requests.as_ref().map(|requests| requests.try_send(payload.to_vec())) {
            Some(Ok(())) => Ok(()),
            Some(Err(TrySendError::Full(_))) => Err(PublishError::Full),
            _ => Err(PublishError::Failed),
        }
    }
}

impl Endpoint for RosClient {
    fn matched(&self) -> u32 {
        let mut exists = self.exists.lock().unwrap();
        let known = match *exists {
            Some((at, known)) if at.elapsed() < REMEMBERED => known,
            _ => {
                // SAFETY: the string outlives the call.
                let known = unsafe { sys::rmwbench_service_exists(self.service.as_ptr()) };
                *exists = Some((Instant::now(), known));
                known
            }
        };
        u32::from(known)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let answered = self.counts.answered.load(Ordering::Relaxed);
        let evidence = Evidence {
            path: "tcp".into(),
            messages: answered,
            note: "TCPROS, within a process too".into(),
        };
        let unanswered = self.counts.unanswered.load(Ordering::Relaxed) as i64;
        Account {
            counters: [("calls_unanswered".to_string(), unanswered)].into(),
            evidence: vec![evidence],
            ..Account::default()
        }
    }
}

impl Drop for RosClient {
    fn drop(&mut self) {
        // SAFETY: the string outlives the call.
        unsafe { sys::rmwbench_param_delete(self.presence.as_ptr()) };
        drop(self.requests.take());
        if let Some(caller) = self.caller.take() {
            let _ = caller.join();
        }
    }
}
