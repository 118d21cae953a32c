//! The settings of the floor. A default never makes it slower than it can be: zero copy is on.

use serde::Deserialize;

use rmwbench_harness::middleware::{Error, SessionConfig};
use rmwbench_harness::qos::{History, Qos};

pub const OPTION_NAMES: [&str; 6] = [
    "transport",
    "slots",
    "zero_copy",
    "inline_bytes",
    "socket_buffer_bytes",
    "publish_timeout_ns",
];

/// The most that `keep_all` may hold of one publisher: more would let one stalled reader fill the
/// machine's memory.
const KEEP_ALL_BYTES: u64 = 256 << 20;
const KEEP_ALL_MESSAGES: u64 = 1024;
/// So that a reader may request more depth than its publisher did, and each of 64 readers may hold
/// one message. Slots cost only address space: the lowest ones are touched first.
const SPARE_SLOTS: u32 = 64;
const MIN_DEPTH: u32 = 64;
/// The buffer that publishers request on UDP, which has no flow control.
const UDP_BUFFER_BYTES: u32 = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    ShmRing,
    Udp,
    Tcp,
    Unix,
}

impl Transport {
    pub fn name(self) -> &'static str {
        match self {
            Transport::ShmRing => "shm_ring",
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::Unix => "unix",
        }
    }

    /// The name of the path in the evidence.
    pub fn path(self) -> &'static str {
        match self {
            Transport::ShmRing => "shm",
            other => other.name(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub transport: Transport,
    /// The slots of each publisher's pool; None: enough for its depth and one for each reader to
    /// hold.
    pub slots: Option<u32>,
    /// Types up to this size travel in the readers' queues and not in slots: they are copied in and
    /// out, which for small messages is faster than passing a slot back and forth. 0: every message
    /// is in a slot.
    pub inline_bytes: u32,
    /// Readers of `shm_ring` read messages in slots in place; otherwise they copy the message out
    /// and return the slot first.
    pub zero_copy: bool,
    /// The size requested of the kernel; None: 8 MiB on UDP, the system's default on streams.
    pub socket_buffer_bytes: Option<u32>,
    /// How long a reliable publish call may block.
    pub publish_timeout_ns: i64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            transport: Transport::ShmRing,
            slots: None,
            inline_bytes: 512,
            zero_copy: true,
            socket_buffer_bytes: None,
            publish_timeout_ns: 1_000_000_000,
        }
    }
}

/// The level of mode `transport` as the floor's transport.
fn transport_mode(config: &SessionConfig) -> Result<Option<Transport>, Error> {
    let Some(level) = config.mode::<String>("transport")? else { return Ok(None) };
    match level.as_str() {
        "udp" => Ok(Some(Transport::Udp)),
        "tcp" => Ok(Some(Transport::Tcp)),
        "unix" => Ok(Some(Transport::Unix)),
        "shm" => Ok(Some(Transport::ShmRing)),
        _ => Err(Error::unsupported(
            "mode transport",
            format!("{level}: a channel is the same within a process and between two"),
        )),
    }
}

impl Options {
    pub fn read(config: &SessionConfig) -> Result<Options, Error> {
        config.only_options(&OPTION_NAMES)?;
        config.only_modes(&["transport"])?;
        let default = Options::default();
        let options = Options {
            transport: transport_mode(config)?
                .map_or_else(|| config.option("transport", default.transport), Ok)?,
            slots: config.option("slots", default.slots)?,
            inline_bytes: config.option("inline_bytes", default.inline_bytes)?,
            zero_copy: config.option("zero_copy", default.zero_copy)?,
            socket_buffer_bytes: config
                .option("socket_buffer_bytes", default.socket_buffer_bytes)?,
            publish_timeout_ns: config.option("publish_timeout_ns", default.publish_timeout_ns)?,
        };
        let out_of_range = |key: &str, expected: &str, found: String| {
            Err(Error::invalid(
                format!("option {key}"),
                format!("expected {expected}, found {found}"),
            ))
        };
        if let Some(slots) = options.slots.filter(|s| !(1..=65_536).contains(s)) {
            return out_of_range("slots", "1 to 65536", slots.to_string());
        }
        if options.inline_bytes > 4096 {
            return out_of_range("inline_bytes", "0 to 4096", options.inline_bytes.to_string());
        }
        if options.publish_timeout_ns <= 0 {
            return out_of_range(
                "publish_timeout_ns",
                "a positive number of nanoseconds",
                options.publish_timeout_ns.to_string(),
            );
        }
        if let Some(bytes) = options.socket_buffer_bytes.filter(|b| !(4096..=1 << 30).contains(b)) {
            return out_of_range("socket_buffer_bytes", "4096 to 1073741824", bytes.to_string());
        }
        let sockets_only = options.transport == Transport::ShmRing
            && config.options.contains_key("socket_buffer_bytes");
        let ring_only = ["slots", "zero_copy", "inline_bytes"]
            .into_iter()
            .find(|k| config.options.contains_key(*k));
        match ring_only {
            _ if sockets_only => Err(Error::invalid(
                "option socket_buffer_bytes",
                "transport shm_ring has no sockets; use udp, tcp or unix",
            )),
            Some(key) if options.transport != Transport::ShmRing => Err(Error::invalid(
                format!("option {key}"),
                format!("transport {} has no ring; use shm_ring", options.transport.name()),
            )),
            _ => Ok(options),
        }
    }

    /// The number of messages that a reader's queue holds: its depth, or for `keep_all` as many as
    /// fit the bound; never more than an explicit `slots`.
    pub fn queue_depth(&self, qos: &Qos, payload_bytes: u32) -> u32 {
        let depth = match qos.history {
            History::KeepLast => qos.depth,
            History::KeepAll => (KEEP_ALL_BYTES / u64::from(payload_bytes.max(1)))
                .clamp(8, KEEP_ALL_MESSAGES) as u32,
        };
        depth.min(self.slots.unwrap_or(u32::MAX))
    }

    /// The room that the queues have for messages of this type: 0 if they are in slots.
    pub fn inline_bytes(&self, payload_bytes: u32) -> u32 {
        if payload_bytes <= self.inline_bytes {
            payload_bytes.max(u32::from(self.inline_bytes > 0))
        } else {
            0
        }
    }

    pub fn pool_slots(&self, qos: &Qos, payload_bytes: u32) -> u32 {
        self.slots
            .unwrap_or_else(|| self.queue_depth(qos, payload_bytes).max(MIN_DEPTH) + SPARE_SLOTS)
    }

    /// The socket buffer to request; None leaves the system's.
    pub fn buffer_bytes(&self) -> Option<u32> {
        self.socket_buffer_bytes.or((self.transport == Transport::Udp).then_some(UDP_BUFFER_BYTES))
    }
}
