//! Services without a middleware: the request call runs the handler, and the reply call passes the
//! answer to the client that sent the request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, RwLock};

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, Granted, Handler, PublishError, Publisher, Sink,
};

use crate::in_the_call;

/// A service's endpoints in this process. Requests share the lock, so that several clients are
/// answered at once; a server that comes or goes takes it alone, so that none is called after it
/// has ended.
#[derive(Default)]
pub struct Service {
    servers: RwLock<Vec<Arc<Server>>>,
    server_count: AtomicU32,
    client_count: AtomicU32,
}

pub struct Server {
    handler: Arc<dyn Handler>,
    handled: AtomicU64,
}

type Services = HashMap<(u32, String), Arc<Service>>;

/// All services of the process, by domain and name.
static SERVICES: LazyLock<Mutex<Services>> = LazyLock::new(Mutex::default);

pub fn service(domain_id: u32, name: &str) -> Arc<Service> {
    SERVICES.lock().unwrap().entry((domain_id, name.into())).or_default().clone()
}

pub struct NullClient {
    service: Arc<Service>,
    sink: Arc<dyn Sink>,
    granted: Granted,
    heard: u64,
}

impl NullClient {
    pub fn new(service: Arc<Service>, sink: Arc<dyn Sink>, granted: Granted) -> Self {
        service.client_count.fetch_add(1, Ordering::SeqCst);
        NullClient { service, sink, granted, heard: 0 }
    }
}

impl Publisher for NullClient {
    fn publish(&mut self, request: &[u8]) -> Result<(), PublishError> {
        for server in self.service.servers.read().unwrap().iter() {
            let request = Delivery::taken(0, request, false);
            server.handler.handle(&request, &mut |reply: &[u8]| {
                self.sink.deliver(&Delivery::taken(0, reply, false));
                self.heard += 1;
                Ok(())
            });
            server.handled.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Endpoint for NullClient {
    fn matched(&self) -> u32 {
        self.service.server_count.load(Ordering::SeqCst)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        in_the_call(self.heard)
    }
}

impl Drop for NullClient {
    fn drop(&mut self) {
        self.service.client_count.fetch_sub(1, Ordering::SeqCst);
    }
}

pub struct NullService {
    service: Arc<Service>,
    granted: Granted,
    server: Arc<Server>,
}

impl NullService {
    pub fn new(service: Arc<Service>, handler: Arc<dyn Handler>, granted: Granted) -> Self {
        let server = Arc::new(Server { handler, handled: AtomicU64::new(0) });
        service.servers.write().unwrap().push(server.clone());
        service.server_count.fetch_add(1, Ordering::SeqCst);
        NullService { service, granted, server }
    }
}

impl Endpoint for NullService {
    fn matched(&self) -> u32 {
        self.service.client_count.load(Ordering::SeqCst)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        in_the_call(self.server.handled.load(Ordering::Relaxed))
    }
}

impl Drop for NullService {
    fn drop(&mut self) {
        self.service.servers.write().unwrap().retain(|server| !Arc::ptr_eq(server, &self.server));
        self.service.server_count.fetch_sub(1, Ordering::SeqCst);
    }
}
