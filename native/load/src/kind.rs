//! The kinds of load, and what each requires of the machine. The figures are fixed: `cpu50` must
//! mean the same in every suite.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Half of every processor, computing.
    Cpu50,
    /// All of every processor, computing.
    Cpu100,
    /// Half of every processor, copying memory that no cache holds: the difference from `cpu50` is
    /// memory bandwidth.
    Membw,
    /// Datagrams on `lo`, between two sockets of this process.
    Traffic,
    /// Listens for TCP from another host, and reads it.
    TcpReceive,
    /// Sends TCP to another host.
    TcpSend,
    /// No load at all but processors that never sleep.
    Awake,
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::Cpu50,
        Kind::Cpu100,
        Kind::Membw,
        Kind::Traffic,
        Kind::TcpReceive,
        Kind::TcpSend,
        Kind::Awake,
    ];
}

/// The requested load, as in the answer to `start`. `share` is of one processor, on each of
/// `processors`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Asked {
    pub processors: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams_per_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagram_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<usize>,
    /// The port on which `tcp_receive` listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The congestion control in force on the flows of `tcp_send`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// The process whose time is the load, if it is not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Why `/dev/cpu_dma_latency` is not held at 0, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma_latency: Option<String>,
}
