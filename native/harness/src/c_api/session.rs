//! Middleware, session, node and daemon over a table.

use std::ffi::{c_char, CStr};
use std::ptr::NonNull;
use std::sync::Arc;

use super::endpoint;
use super::raw;
use super::reports::{configuration, created, description};
use super::requests::{c_text, SessionTexts};
use super::table::{self, Daemons, Table};
use crate::middleware::{
    Configuration, Daemon, Description, Endpoint, EndpointConfig, Error, Handler, Middleware, Node,
    OneHost, Publisher, Session, SessionConfig, SharedHost, SharedMemory, Sink, Subscription,
};

/// A middleware behind the C header.
pub struct CMiddleware {
    table: Table,
}

impl CMiddleware {
    /// Checks `table` and takes a copy of it.
    ///
    /// # Errors
    /// `Invalid` for another ABI version, a size that it never had, or a missing function; both
    /// sides of the difference are named.
    ///
    /// # Safety
    /// `table` is null or points to a `rmwbench_middleware` whose first two fields give its true
    /// version and size, and whose functions keep the header's promises for as long as the process
    /// lives.
    pub unsafe fn load(table: *const raw::Middleware) -> Result<CMiddleware, Error> {
        Ok(CMiddleware { table: table::load(table)? })
    }

    #[cfg(test)]
    pub(super) fn has_messages(&self) -> bool {
        self.table.message.is_some()
    }
}

impl Middleware for CMiddleware {
    fn describe(&self) -> Description {
        // SAFETY: the header promises a description that lives as long as the process, with arrays
        // of the lengths that it states.
        unsafe { description((self.table.describe)()) }
    }

    fn forced(&self, profile: &str) -> Option<&'static str> {
        let profile = c_text("profile", profile).ok()?;
        // SAFETY: the header promises text that lives as long as the process.
        unsafe { static_text((self.table.forced?)(profile.as_ptr())) }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        let texts = SessionTexts::of(config)?;
        // SAFETY: all arguments live until the call returns.
        let session = created("session", |error| unsafe {
            (self.table.session_open)(&texts.raw(config), error)
        })?;
        Ok(Box::new(CSession(Arc::new(OpenSession { table: self.table, session }))))
    }

    fn daemons(&self, profile: &str) -> &'static [&'static str] {
        let (Some(daemons), Ok(profile)) = (self.table.daemons, c_text("profile", profile)) else {
            return &[];
        };
        // SAFETY: the header promises an array that ends with NULL and lives as long as the
        // process.
        unsafe { static_texts((daemons.of_profile)(profile.as_ptr())) }
    }

    fn one_host(&self, profile: &str) -> Option<OneHost> {
        let (tell, profile) = (self.table.hosts.one_host?, c_text("profile", profile).ok()?);
        // SAFETY: the header promises a struct that lives as long as the process.
        unsafe {
            let one_host = tell(profile.as_ptr()).as_ref()?;
            Some(OneHost {
                reason: static_text(one_host.reason)?,
                unless: static_texts(one_host.unless),
            })
        }
    }

    fn shared_host(&self) -> Option<SharedHost> {
        // SAFETY: as above.
        unsafe {
            let shared_host = (self.table.hosts.shared_host?)().as_ref()?;
            let pairs = table::slice(shared_host.without, shared_host.without_count).iter();
            let without =
                pairs.filter_map(|pair| Some((static_text(pair.name)?, static_text(pair.value)?)));
            Some(SharedHost {
                forced: static_text(shared_host.forced)?,
                without: without.collect::<Vec<_>>().leak(),
            })
        }
    }

    fn shared_memory(&self, profile: &str) -> Option<SharedMemory> {
        let (tell, profile) = (self.table.hosts.shared_memory?, c_text("profile", profile).ok()?);
        // SAFETY: as above.
        let shared_memory = unsafe { tell(profile.as_ptr()).as_ref()? };
        Some(SharedMemory {
            process_bytes: shared_memory.process_bytes,
            histories: shared_memory.histories != 0,
        })
    }

    fn mode_daemons(&self) -> &'static [(&'static str, &'static str, &'static [&'static str])] {
        let Some(tell) = self.table.hosts.mode_daemons else { return &[] };
        // SAFETY: the header promises an array that ends with an entry without a mode and lives as
        // long as the process.
        let all: Vec<_> = unsafe {
            let first = tell();
            let entries = (0..).map(|place| &*first.add(place));
            let daemons = entries.map_while(|one| {
                Some((static_text(one.mode)?, static_text(one.level)?, static_texts(one.daemons)))
            });
            if first.is_null() {
                Vec::new()
            } else {
                daemons.collect()
            }
        };
        all.leak()
    }

    fn daemons_each_host(&self) -> &'static [&'static str] {
        // SAFETY: as for `daemons`.
        self.table.hosts.daemons_each_host.map_or(&[], |tell| unsafe { static_texts(tell()) })
    }

    fn daemon(&self, name: &str, config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        let object = format!("daemon {name}");
        let Some(daemons) = self.table.daemons else {
            return Err(Error::unsupported(object, "this worker has no daemons"));
        };
        let (c_name, texts) = (c_text(&object, name)?, SessionTexts::of(config)?);
        // SAFETY: all arguments live until the call returns.
        let daemon = created(&object, |error| unsafe {
            (daemons.open)(c_name.as_ptr(), &texts.raw(config), error)
        })?;
        Ok(Box::new(CDaemon { daemons, daemon }))
    }
}

unsafe fn static_text(words: *const c_char) -> Option<&'static str> {
    (!words.is_null()).then(|| CStr::from_ptr(words).to_str().unwrap_or("(not UTF-8)"))
}

/// Copies the texts of an array that ends with NULL; an empty list for NULL. They are never freed:
/// a process reads them once or twice, and they are a few words.
///
/// # Safety
/// The array and its texts live as long as the process.
unsafe fn static_texts(first: *const *const c_char) -> &'static [&'static str] {
    if first.is_null() {
        return &[];
    }
    (0..).map_while(|place| static_text(*first.add(place))).collect::<Vec<_>>().leak()
}

struct CDaemon {
    daemons: Daemons,
    daemon: NonNull<raw::Daemon>,
}

impl Daemon for CDaemon {}

impl Drop for CDaemon {
    fn drop(&mut self) {
        // SAFETY: created by `daemon_open`, closed once, here.
        unsafe { (self.daemons.close)(self.daemon.as_ptr()) }
    }
}

/// Closes the session when the last node, and hence the last endpoint, has been dropped: the order
/// that the header promises does not depend on the caller.
struct OpenSession {
    table: Table,
    session: NonNull<raw::Session>,
}

// SAFETY: the header allows calls from any thread; calls on one object do not overlap, because they
// take the object's unique owner.
unsafe impl Send for OpenSession {}
unsafe impl Sync for OpenSession {}

impl Drop for OpenSession {
    fn drop(&mut self) {
        // SAFETY: created by `session_open`, closed once, here.
        unsafe { (self.table.session_close)(self.session.as_ptr()) }
    }
}

struct CSession(Arc<OpenSession>);

impl Session for CSession {
    fn node(&mut self, name: &str) -> Result<Box<dyn Node>, Error> {
        let c_name = c_text("node", name)?;
        // SAFETY: the session is open and the name outlives the call.
        let node = created(name, |error| unsafe {
            (self.0.table.node_create)(self.0.session.as_ptr(), c_name.as_ptr(), error)
        })?;
        Ok(Box::new(CNode(Arc::new(OpenNode { session: self.0.clone(), node }))))
    }

    fn configuration(&self) -> Option<Configuration> {
        let tell = self.0.table.configuration?;
        // SAFETY: the session is open.
        configuration(|raw| unsafe { tell(self.0.session.as_ptr(), raw) })
    }
}

/// A node; it lives as long as one of its endpoints.
pub struct OpenNode {
    session: Arc<OpenSession>,
    node: NonNull<raw::Node>,
}

// SAFETY: as for OpenSession.
unsafe impl Send for OpenNode {}
unsafe impl Sync for OpenNode {}

impl OpenNode {
    pub fn table(&self) -> Table {
        self.session.table
    }

    pub fn as_ptr(&self) -> *mut raw::Node {
        self.node.as_ptr()
    }
}

impl Drop for OpenNode {
    fn drop(&mut self) {
        // SAFETY: created by `node_create`, destroyed once; its session is still open.
        unsafe { (self.session.table.node_destroy)(self.node.as_ptr()) }
    }
}

struct CNode(Arc<OpenNode>);

impl Node for CNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        endpoint::publisher(&self.0, config)
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        endpoint::subscription(&self.0, config, sink)
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        endpoint::client(&self.0, config, sink)
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        endpoint::service(&self.0, config, handler)
    }
}
