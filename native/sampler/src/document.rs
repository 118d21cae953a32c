//! The document that `collect` writes, field by field as in docs/formats/sampler.md. An absent
//! value is `None` and not written, never zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Declares a serde struct whose optional fields are left out when absent, and which refuses
/// unknown fields: the page and this file cannot diverge unnoticed.
macro_rules! part {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident : $kind:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $kind),+ }
    };
}

part!(
    /// Processor time of all processors since boot.
    Machine { user_ns: u64, system_ns: u64, idle_ns: u64, irq_ns: u64, softirq_ns: u64, steal_ns: u64, processors: u64 }
);

part!(Interface {
    rx_bytes: u64,
    rx_packets: u64,
    rx_errors: u64,
    rx_dropped: u64,
    tx_bytes: u64,
    tx_packets: u64,
    tx_errors: u64,
    tx_dropped: u64,
});

part!(Udp {
    in_datagrams: u64,
    out_datagrams: u64,
    in_errors: u64,
    rcvbuf_errors: u64,
    sndbuf_errors: u64,
    no_ports: u64
});

part!(Ip {
    reasm_required: u64,
    reasm_ok: u64,
    reasm_fails: u64,
    reasm_timeouts: u64,
    frag_creates: u64,
    in_discards: u64,
    out_discards: u64,
});

part!(Tcp {
    out_segments: u64,
    retransmitted_segments: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")] timeouts: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] receive_queue_drops: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] listen_drops: Option<u64>,
});

part!(Softnet { dropped: u64, squeezed: u64 });

part!(
    /// Counters of a process since it began.
    Process {
        role: String,
        pid: i32,
        cpu_ns: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")] voluntary_switches: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")] involuntary_switches: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")] minor_faults: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")] major_faults: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")] run_delay_ns: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")] rss_bytes: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")] threads: Option<u64>,
    }
);

/// A socket and its owners. Which fields it has depends on the kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Socket {
    Udp {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<String>,
        inode: u64,
        local: String,
        remote: String,
        drops: u64,
        receive_queue_bytes: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receive_buffer_bytes: Option<u64>,
    },
    Tcp {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer_process: Option<String>,
        inode: u64,
        local: String,
        remote: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_bytes: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        received_bytes: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retransmits: Option<u64>,
    },
    Unix {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer_process: Option<String>,
        inode: u64,
        r#type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue_bytes: Option<u64>,
    },
}

part!(
    /// `at` is `steady_begin` or `steady_end`. `took_ns` is the time that the reading at the edge
    /// took.
    Snapshot {
        at: String,
        time_ns: i64,
        took_ns: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")] machine: Option<Machine>,
        processes: BTreeMap<String, Process>,
        interfaces: BTreeMap<String, Interface>,
        #[serde(default, skip_serializing_if = "Option::is_none")] udp: Option<Udp>,
        #[serde(default, skip_serializing_if = "Option::is_none")] ip: Option<Ip>,
        #[serde(default, skip_serializing_if = "Option::is_none")] tcp: Option<Tcp>,
        #[serde(default, skip_serializing_if = "Option::is_none")] softnet: Option<Softnet>,
        sockets: Vec<Socket>,
    }
);

part!(SeriesProcess {
    cpu_ns: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")] rss_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] pss_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] file_pss_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] run_delay_ns: Option<u64>,
});

part!(SeriesInterface { rx_bytes: u64, tx_bytes: u64, rx_packets: u64, tx_packets: u64 });
part!(SeriesUdp { rcvbuf_errors: u64 });
part!(SeriesIp { reasm_fails: u64 });
part!(SeriesTcp { retransmitted_segments: u64 });

part!(Sample {
    time_ns: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")] machine: Option<Machine>,
    processes: BTreeMap<String, SeriesProcess>,
    interfaces: BTreeMap<String, SeriesInterface>,
    #[serde(default, skip_serializing_if = "Option::is_none")] udp: Option<SeriesUdp>,
    #[serde(default, skip_serializing_if = "Option::is_none")] ip: Option<SeriesIp>,
    #[serde(default, skip_serializing_if = "Option::is_none")] tcp: Option<SeriesTcp>,
});

part!(
    /// The number of wake-ups on one processor, and of those more than 1 ms (`late`) and 10 ms
    /// (`stalled`) late.
    CanaryProcessor { count: u64, late: u64, stalled: u64 }
);

part!(
    /// How late sleeping threads woke; a quantile with fewer than ten values beyond it is null.
    Canary {
        period_ns: i64,
        count: u64,
        p50_ns: Option<i64>,
        p99_ns: Option<i64>,
        p999_ns: Option<i64>,
        max_ns: Option<i64>,
        processors: BTreeMap<String, CanaryProcessor>,
        late: Vec<(i64, i64)>,
    }
);

part!(
    /// What a thread used within the window.
    Thread { tid: i32, name: String, cpu_ns: u64, run_delay_ns: u64 }
);

/// The time, the process, the thread, and the event: `in`, `out_runnable`, `out_blocked` or
/// `woken`.
pub type ScheduleEvent = (i64, String, i32, String);

part!(Schedule { lost: u64, events: Vec<ScheduleEvent> });

part!(Segment {
    name: String,
    rss_bytes: u64,
    pss_bytes: u64,
    #[serde(default)]
    writable: bool
});

part!(Memory {
    rss_bytes: u64,
    pss_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")] peak_rss_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")] virtual_bytes: Option<u64>,
    shared_segments: Vec<Segment>,
});

part!(Energy { joules: f64 });

part!(
    /// The resources that the sampler itself used: since it began, and within the window.
    SamplerUsage { cpu_ns: i64, window_cpu_ns: i64, rss_bytes: u64 }
);

part!(Document {
    snapshots: Vec<Snapshot>,
    #[serde(default, skip_serializing_if = "Option::is_none")] series: Option<Vec<Sample>>,
    #[serde(default, skip_serializing_if = "Option::is_none")] canary: Option<Canary>,
    #[serde(default, skip_serializing_if = "Option::is_none")] threads: Option<BTreeMap<String, Vec<Thread>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")] schedule: Option<Schedule>,
    memory: BTreeMap<String, Memory>,
    #[serde(default, skip_serializing_if = "Option::is_none")] energy: Option<BTreeMap<String, Energy>>,
    no_data: BTreeMap<String, String>,
    own: SamplerUsage,
});
