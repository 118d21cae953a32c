//! A service: roscpp sends the answer when the callback has returned.

use std::ffi::{c_void, CString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Evidence, Granted, Handler,
};

use crate::client::presences;
use crate::qos;
use crate::session::{Queue, Shared};
use crate::sys;

/// How long an answer of the master is considered true.
const REMEMBERED: Duration = Duration::from_millis(50);

pub struct RosService {
    server: *mut sys::Server,
    /// Its address is the server's context.
    desk: Box<Desk>,
    presences: CString,
    clients: Mutex<Option<(Instant, u32)>>,
    granted: Granted,
    _queue: Arc<Queue>,
}

struct Desk {
    handler: Arc<dyn Handler>,
    requests: AtomicU64,
}

// SAFETY: roscpp's servers may be used from any thread.
unsafe impl Send for RosService {}

impl RosService {
    pub fn new(
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
        session: &Shared,
    ) -> Result<Self, Error> {
        let mut granted = qos::topic(config, &session.settings)?.granted;
        granted.notes = vec!["an answer is sent when the callback has returned: a reply's publish call copies it and no more".into()];
        let name = session.name(config)?;
        let queue = session.queue(config.wait)?;
        let desk = Box::new(Desk { handler, requests: AtomicU64::new(0) });
        let context = (&raw const *desk).cast_mut().cast();
        let server = sys::create(format!("endpoint {}", config.endpoint), |error| {
            let (name, queue) = (name.as_ptr(), queue.as_ptr());
            // SAFETY: queue and context live until the server was deleted, the error outlives the
            // call.
            unsafe { sys::rmwbench_server_new(name, queue, handle, context, error) }
        })?;
        let presences =
            CString::new(presences(&name.to_string_lossy())).expect("no NUL among them");
        Ok(RosService {
            server,
            desk,
            presences,
            clients: Mutex::new(None),
            granted,
            _queue: queue,
        })
    }
}

unsafe extern "C" fn handle(
    context: *mut c_void,
    request: *const sys::Message,
    response: *mut c_void,
) {
    // SAFETY: the desk of `RosService::new`; request and response are valid for this call.
    let (desk, request) = unsafe { (&*context.cast::<Desk>(), &*request) };
    desk.requests.fetch_add(1, Ordering::Relaxed);
    // SAFETY: as above.
    let payload = unsafe { request.payload() };
    let delivery = Delivery {
        notified_ns: request.notified_ns,
        taken_ns: request.taken_ns,
        payload,
        zero_copy: false,
        lossy: false,
    };
    desk.handler.handle(&delivery, &mut |reply: &[u8]| {
        // SAFETY: as above; the call copies.
        unsafe { sys::rmwbench_response(response, reply.as_ptr(), reply.len()) };
        Ok(())
    });
}

impl Endpoint for RosService {
    fn matched(&self) -> u32 {
        let mut clients = self.clients.lock().unwrap();
        match *clients {
            Some((at, known)) if at.elapsed() < REMEMBERED => known,
            _ => {
                // SAFETY: the string outlives the call.
                let known = unsafe { sys::rmwbench_param_children(self.presences.as_ptr()) };
                *clients = Some((Instant::now(), known));
                known
            }
        }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let messages = self.desk.requests.load(Ordering::Relaxed);
        let evidence =
            Evidence { path: "tcp".into(), messages, note: "TCPROS, within a process too".into() };
        Account { evidence: vec![evidence], ..Account::default() }
    }
}

impl Drop for RosService {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once; it waits for a callback that is under way.
        unsafe { sys::rmwbench_server_delete(self.server) };
    }
}
