//! Makes sockets, with the options that every socket of this worker has.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use rmwbench_harness::middleware::Error;
use zmq::{Context, Socket, SocketType};

use crate::qos::Queues;
use crate::settings::Settings;

/// Messages under way at an endpoint's end are still sent, for this long.
const LINGER_MS: i32 = 1000;
/// Longer than the lookout waits before it closes the connection to a vanished peer: another socket
/// may have that port by then.
const RECONNECT_MS: i32 = 2000;
/// The effect of these two on a profile of libzmq's defaults.
pub const FORCED: &str = "a lost peer is looked for after 2 s (libzmq: 0.1 s), and what an ended socket holds is sent for 1 s";
/// Options of `zmq.h` for which the crate has no name.
const XPUB_NODROP: c_int = 69;
const XPUB_VERBOSER: c_int = 78;

extern "C" {
    fn zmq_setsockopt(
        socket: *mut c_void,
        option: c_int,
        value: *const c_void,
        bytes: usize,
    ) -> c_int;
}

/// The process's contexts by their number of I/O threads: inproc works only within one context, and
/// libzmq is made for one per process.
static CONTEXTS: Mutex<Vec<(u16, Context)>> = Mutex::new(Vec::new());

pub fn context(settings: &Settings) -> Result<Context, Error> {
    let threads = settings.threads.unwrap_or(1);
    let mut contexts = CONTEXTS.lock().unwrap();
    if let Some((_, context)) = contexts.iter().find(|(count, _)| *count == threads) {
        return Ok(context.clone());
    }
    let context = Context::new();
    context.set_io_threads(i32::from(threads)).map_err(|e| Error::failed("ZMQ_IO_THREADS", e))?;
    contexts.push((threads, context.clone()));
    Ok(context)
}

/// A socket of `kind` for an endpoint, neither bound nor connected.
pub fn open(
    context: &Context,
    kind: SocketType,
    settings: &Settings,
    queues: Queues,
) -> zmq::Result<Socket> {
    let mut socket = context.socket(kind)?;
    socket.set_linger(LINGER_MS)?;
    socket.set_reconnect_ivl(RECONNECT_MS)?;
    socket.set_sndhwm(queues.mark)?;
    socket.set_rcvhwm(queues.mark)?;
    if let Some(bytes) = settings.socket_buffer_bytes {
        socket.set_sndbuf(bytes)?;
        socket.set_rcvbuf(bytes)?;
    }
    match kind {
        SocketType::XPUB => {
            set(&mut socket, XPUB_VERBOSER, 1)?; // reports each subscription and its end
            set(&mut socket, XPUB_NODROP, c_int::from(queues.block))?;
        }
        SocketType::SUB => {
            socket.set_conflate(queues.conflate)?;
            socket.set_subscribe(b"")?;
        }
        // An answer that cannot reach its client is an error; otherwise it would be ignored.
        SocketType::ROUTER => socket.set_router_mandatory(true)?,
        _ => {}
    }
    Ok(socket)
}

fn set(socket: &mut Socket, option: c_int, value: c_int) -> zmq::Result<()> {
    let bytes = size_of::<c_int>();
    // SAFETY: the socket exists; both options take an int.
    match unsafe { zmq_setsockopt(socket.as_mut_ptr(), option, (&raw const value).cast(), bytes) } {
        0 => Ok(()),
        _ => Err(zmq::Error::from_raw(
            std::io::Error::last_os_error().raw_os_error().unwrap_or_default(),
        )),
    }
}

/// Binds a socket and returns the address to which others connect.
pub fn bind(socket: &Socket, endpoint: &str) -> zmq::Result<String> {
    socket.bind(endpoint)?;
    socket.get_last_endpoint()?.map_err(|_| zmq::Error::EINVAL)
}

/// The kernel grants buffers for each connection and does not report them; the note states the
/// request.
pub fn notes(settings: &Settings) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(bytes) = settings.socket_buffer_bytes {
        let limit = |name: &str| {
            std::fs::read_to_string(format!("/proc/sys/net/core/{name}"))
                .map_or("?".into(), |t| t.trim().to_string())
        };
        let (receive, send) = (limit("rmem_max"), limit("wmem_max"));
        notes.push(format!("socket buffers: {bytes} bytes asked, the kernel grants at most {receive} (receive) and {send} (send)"));
    }
    notes
}
