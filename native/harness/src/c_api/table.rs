//! Checks a table's functions: all required functions are there, and an optional group is complete
//! or absent.

use std::ffi::{c_char, c_void, CStr};
use std::mem::zeroed;
use std::ptr::copy_nonoverlapping;

use super::raw;
use crate::middleware::Error;

#[derive(Clone, Copy)]
pub struct Table {
    pub describe: unsafe extern "C" fn() -> *const raw::Description,
    pub session_open:
        unsafe extern "C" fn(*const raw::SessionConfig, *mut raw::Error) -> *mut raw::Session,
    pub session_close: raw::Destroy<raw::Session>,
    pub node_create:
        unsafe extern "C" fn(*mut raw::Session, *const c_char, *mut raw::Error) -> *mut raw::Node,
    pub node_destroy: raw::Destroy<raw::Node>,
    pub publisher_create: raw::Create<raw::Publisher>,
    pub publisher: Calls<raw::Publisher>,
    pub publish: raw::Send<raw::Publisher>,
    pub loans: Option<Loans>,
    pub message: Option<Message<raw::Publisher>>,
    pub subscription_create: raw::CreateWith<raw::Sink, raw::Subscription>,
    pub subscription: Calls<raw::Subscription>,
    pub services: Option<Services>,
    pub configuration: Option<unsafe extern "C" fn(*mut raw::Session, *const raw::Configuration)>,
    pub forced: Option<unsafe extern "C" fn(*const c_char) -> *const c_char>,
    pub daemons: Option<Daemons>,
    pub hosts: Hosts,
}

/// Functions that describe profiles and daemons, for questions that depend on the host; each may be
/// missing.
#[derive(Clone, Copy)]
pub struct Hosts {
    pub one_host: Option<unsafe extern "C" fn(*const c_char) -> *const raw::OneHost>,
    pub shared_host: Option<unsafe extern "C" fn() -> *const raw::SharedHost>,
    pub shared_memory: Option<unsafe extern "C" fn(*const c_char) -> *const raw::SharedMemory>,
    pub mode_daemons: Option<unsafe extern "C" fn() -> *const raw::ModeDaemons>,
    pub daemons_each_host: Option<unsafe extern "C" fn() -> *const *const c_char>,
}

/// Gives the payload of the API's own message: of a publisher, a client, or a reply (by its
/// context).
pub type Message<T> = unsafe extern "C" fn(*mut T, usize) -> *mut u8;

/// The functions of every kind of endpoint.
pub struct Calls<T> {
    pub destroy: raw::Destroy<T>,
    pub matched: raw::Matched<T>,
    pub granted: raw::TellGranted<T>,
    pub account: raw::TellAccount<T>,
}

// Written by hand: the derived ones would require Clone and Copy of the opaque T.
impl<T> Clone for Calls<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Calls<T> {}

#[derive(Clone, Copy)]
pub struct Loans {
    pub loan: unsafe extern "C" fn(*mut raw::Publisher, usize, *mut *mut u8) -> raw::Status,
    pub commit: unsafe extern "C" fn(*mut raw::Publisher, *mut u8, usize) -> raw::Status,
}

#[derive(Clone, Copy)]
pub struct Services {
    pub client_create: raw::CreateWith<raw::Sink, raw::Client>,
    pub client: Calls<raw::Client>,
    pub request: raw::Send<raw::Client>,
    pub request_message: Option<Message<raw::Client>>,
    pub reply_message: Option<Message<c_void>>,
    pub service_create: raw::CreateWith<raw::Handler, raw::Service>,
    pub service: Calls<raw::Service>,
}

#[derive(Clone, Copy)]
pub struct Daemons {
    pub of_profile: unsafe extern "C" fn(*const c_char) -> *const *const c_char,
    pub open: unsafe extern "C" fn(
        *const c_char,
        *const raw::SessionConfig,
        *mut raw::Error,
    ) -> *mut raw::Daemon,
    pub close: raw::Destroy<raw::Daemon>,
}

/// Checks `table` and takes a copy of its functions.
///
/// # Errors
/// `Invalid` for another ABI version, a size that it never had, or a missing function; both sides
/// of the difference are named.
///
/// # Safety
/// As for [`super::CMiddleware::load`].
pub unsafe fn load(table: *const raw::Middleware) -> Result<Table, Error> {
    if table.is_null() {
        return Err(bad("the table is NULL"));
    }
    // Only the first two fields may be read before they have been checked: a table of another
    // version may be shorter.
    let (version, bytes) = ((*table).abi_version, (*table).struct_bytes as usize);
    if version != raw::ABI_VERSION {
        let expected = raw::ABI_VERSION;
        return Err(bad(&format!("ABI version: expected {expected}, found {version}; rebuild it with this rmwbench_worker.h")));
    }
    let (least, most) = (raw::LEAST_STRUCT_BYTES, size_of::<raw::Middleware>());
    if !(least..=most).contains(&bytes) {
        let difference =
            format!("size of the table: expected {least} to {most} bytes, found {bytes}");
        return Err(bad(&format!("{difference}; rebuild it with this rmwbench_worker.h")));
    }
    // SAFETY: all zeros are a table in which every function is missing, and `bytes` bytes of the
    // other table may be read.
    let mut t: raw::Middleware = zeroed();
    copy_nonoverlapping(table.cast::<u8>(), (&raw mut t).cast::<u8>(), bytes);
    macro_rules! present {
        ($name:ident) => {
            t.$name.ok_or_else(|| bad(concat!("function ", stringify!($name), " is NULL")))?
        };
    }
    // Whether an optional group is there; an incomplete group is an error.
    macro_rules! whole {
        ($($name:ident),+) => {
            match [$((stringify!($name), t.$name.is_some())),+] {
                all if all.iter().all(|(_, present)| *present) => true,
                none if none.iter().all(|(_, present)| !present) => false,
                some => {
                    let missing = some.iter().find(|(_, present)| !present).map_or("", |(name, _)| *name);
                    return Err(bad(&format!("{}: expected all or none, and {missing} is NULL", [$(stringify!($name)),+].join(", "))));
                }
            }
        };
    }
    macro_rules! calls {
        ($destroy:ident, $matched:ident, $granted:ident, $account:ident) => {
            Calls {
                destroy: present!($destroy),
                matched: present!($matched),
                granted: present!($granted),
                account: present!($account),
            }
        };
    }
    #[rustfmt::skip]
    let has_services = whole!(
        client_create, client_destroy, client_request, client_matched, client_granted, client_account,
        service_create, service_destroy, service_matched, service_granted, service_account
    );
    let services = if has_services {
        Some(Services {
            client_create: present!(client_create),
            client: calls!(client_destroy, client_matched, client_granted, client_account),
            request: present!(client_request),
            request_message: t.client_message,
            reply_message: t.reply_message,
            service_create: present!(service_create),
            service: calls!(service_destroy, service_matched, service_granted, service_account),
        })
    } else {
        None
    };
    let loans = if whole!(loan, commit) {
        Some(Loans { loan: present!(loan), commit: present!(commit) })
    } else {
        None
    };
    let daemons = if whole!(profile_daemons, daemon_open, daemon_close) {
        Some(Daemons {
            of_profile: present!(profile_daemons),
            open: present!(daemon_open),
            close: present!(daemon_close),
        })
    } else {
        None
    };
    Ok(Table {
        describe: present!(describe),
        session_open: present!(session_open),
        session_close: present!(session_close),
        node_create: present!(node_create),
        node_destroy: present!(node_destroy),
        publisher_create: present!(publisher_create),
        publisher: calls!(
            publisher_destroy,
            publisher_matched,
            publisher_granted,
            publisher_account
        ),
        publish: present!(publish),
        loans,
        message: t.publisher_message,
        subscription_create: present!(subscription_create),
        subscription: calls!(
            subscription_destroy,
            subscription_matched,
            subscription_granted,
            subscription_account
        ),
        services,
        configuration: t.session_configuration,
        forced: t.profile_forced,
        daemons,
        hosts: Hosts {
            one_host: t.profile_one_host,
            shared_host: t.shared_host,
            shared_memory: t.profile_shared_memory,
            mode_daemons: t.mode_daemons,
            daemons_each_host: t.daemons_each_host,
        },
    })
}

fn bad(message: &str) -> Error {
    Error::invalid("rmwbench_middleware", message)
}

/// Returns an owned copy; empty for NULL.
pub fn text(words: *const c_char) -> String {
    if words.is_null() {
        return String::new();
    }
    // SAFETY: the header promises text that ends with a NUL.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

/// # Safety
/// `start` points to `length` elements that live as long as the result is used, unless `length` is
/// 0.
pub unsafe fn slice<'a, T>(start: *const T, length: usize) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    std::slice::from_raw_parts(start, length)
}
