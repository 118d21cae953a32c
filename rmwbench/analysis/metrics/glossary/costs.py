"""What processes, their host and the machine spend: processor time, memory, bytes on the wire,
energy."""

from functools import partial

from rmwbench.analysis.metrics.glossary.metric import (
    COMPARED,
    EFFECT,
    LIMIT,
    LOWER,
    OWN_COST,
    PRIMARY,
    Group,
    Metric,
    MetricScope,
)
from rmwbench.analysis.stats.quantile import needed

GROUP = Group("Costs")
_metric = partial(Metric, better=LOWER, of=MetricScope.PROCESSES, group=GROUP)

METRICS = (
    _metric(
        "cpu_per_message",
        "CPU per message",
        "ns",
        "positive",
        "CPU time of all worker processes, of their middleware's daemons and of whatever else it "
        "started, in the steady window for each message delivered: kernel time in their system "
        "calls included, interrupts that hit other processes not.",
        use=PRIMARY | COMPARED | EFFECT | OWN_COST,
        per_message=True,
    ),
    _metric(
        "cpu_per_message_publisher",
        "CPU per message, publisher",
        "ns",
        "positive",
        "CPU time of the publishing processes for each message that publishers published.",
        per_message=True,
    ),
    _metric(
        "cpu_per_message_subscription",
        "CPU per message, subscription",
        "ns",
        "positive",
        "CPU time of the receiving processes for each message that subscriptions got.",
        per_message=True,
    ),
    _metric(
        "cpu_per_gigabyte",
        "CPU per gigabyte",
        "s/GB",
        "positive",
        "The same CPU time for each gigabyte (10⁹ bytes) of payload delivered; of a service, of its "
        "replies.",
    ),
    _metric(
        "cpu_cores",
        "CPU",
        "cores",
        "positive",
        "CPU time of all worker processes, daemons and what else the middleware started, per "
        "second of the steady window.",
        use=LIMIT | PRIMARY,
    ),
    *(
        _metric(
            f"cpu_by_second_p{q * 100:g}",
            f"CPU by second, {name}",
            "cores",
            "quantile",
            "CPU time of the same processes in each second of the steady window, where a time "
            f"series was asked for (`sampling: {{series_hz: 1}}`). {share} of the seconds take "
            f"more. Printed from {needed(q)} seconds on; below that a bound.",
            source="cpu_by_second",
            q=q,
            counted="seconds",
            absent="no message to measure",
        )
        for q, name, share in ((0.5, "median", "Half"), (0.95, "p95", "5 %"))
    ),
    _metric(
        "cpu_cores_daemon",
        "CPU, daemons",
        "cores",
        "amount",
        "The share of brokers, routers and other daemons.",
    ),
    _metric(
        "cpu_cores_other",
        "CPU, other processes",
        "cores",
        "amount",
        "The share of processes that nobody named but that run in the host: a middleware started "
        "them.",
    ),
    _metric(
        "cpu_cores_harness",
        "CPU, harness",
        "cores",
        "amount",
        "CPU time of our own processes beside the workers (orchestrator, sampler, the host's init) "
        "per second of the steady window. In no other figure.",
    ),
    _metric(
        "cpu_cores_sampler",
        "CPU, sampler",
        "cores",
        "amount",
        "The sampler's part of that: what it costs to know.",
    ),
    _metric(
        "softirq_cores",
        "soft interrupts",
        "cores",
        "amount",
        "Processor time of the whole machine (of all together where hosts are machines) in soft "
        "interrupts, mostly its network receive path, "
        "per second of the steady window; in steps of 10 ms. On most kernels the part that runs "
        "within a process's system call is in that process's CPU time too, so the two must not be "
        "added.",
        of=MetricScope.MACHINE,
    ),
    _metric(
        "context_switches_per_message",
        "context switches per message",
        "count",
        "amount",
        "Voluntary and involuntary switches of the same processes for each message delivered.",
        per_message=True,
    ),
    _metric(
        "page_faults_per_message",
        "page faults per message",
        "count",
        "amount",
        "Minor and major faults of the same processes in the steady window for each message "
        "delivered: memory that is mapped anew for each message shows here.",
        per_message=True,
    ),
    *(
        _metric(
            f"{stem}_per_message_{side}",
            f"{title} per message, {side}",
            unit,
            "amount",
            text + " " + of,
            per_message=True,
        )
        for side, of in (
            ("publisher", "Of the publishing processes, for each message published."),
            ("subscription", "Of the receiving processes, for each message delivered."),
        )
        for stem, title, unit, text in (
            (
                "allocations",
                "allocations",
                "count",
                "Calls of malloc and its like (operator new and Rust's allocator end there) in the "
                "steady window, of all threads of the middleware; what the harness does is left "
                "out. Counted in untimed trials alone.",
            ),
            (
                "allocated_bytes",
                "bytes allocated",
                "bytes",
                "The bytes that those calls asked for.",
            ),
        )
    ),
    _metric(
        "wake_ups",
        "wake-ups",
        "hz",
        "amount",
        "How often per second of the steady window threads of the same processes gave the "
        "processor back and were woken again (voluntary context switches): what an idle node costs "
        "a sleeping machine.",
    ),
    _metric(
        "processor_wait_per_message",
        "wait for a processor per message",
        "ns",
        "amount",
        "How long threads of the same processes wanted to run and had no processor, for each "
        "message delivered: large where the machine, not the middleware, sets the latency.",
        per_message=True,
    ),
    _metric(
        "wire_bytes_per_payload_byte",
        "bytes on the wire per payload byte",
        "1",
        "amount",
        "Bytes that all interfaces of the host sent in the steady window for each byte of payload "
        "delivered: headers, acknowledgements, discovery. Near 0 where messages travel in shared "
        "memory. Without what a background load of ours sent; on the shared host the loopback "
        "alone.",
        use=EFFECT,
    ),
    _metric(
        "wire_bytes_per_payload_byte_lo",
        "bytes on the wire per payload byte, loopback",
        "1",
        "amount",
        "The same, over the loopback alone.",
    ),
    _metric(
        "wire_bytes_per_payload_byte_eth0",
        "bytes on the wire per payload byte, eth0",
        "1",
        "amount",
        "The same, over eth0 alone.",
    ),
    _metric(
        "packets_per_message",
        "packets per message",
        "count",
        "amount",
        "Packets that all interfaces sent in the steady window for each message delivered; a "
        "packet on the loopback holds up to 64 KiB.",
        per_message=True,
        use=EFFECT,
    ),
    _metric(
        "power",
        "power",
        "W",
        "positive",
        "Power of the processor packages and their memory (RAPL), or at the board's input, over "
        "the steady window: the whole machine, idle consumption included. Of all machines "
        "together where hosts are machines.",
        of=MetricScope.MACHINE,
    ),
    _metric(
        "energy_per_message",
        "energy per message",
        "J",
        "positive",
        "That energy for each message delivered, idle consumption included.",
        per_message=True,
        of=MetricScope.MACHINE,
    ),
    _metric(
        "pss",
        "memory (PSS)",
        "bytes",
        "positive",
        "Proportional set size of all worker processes, daemons and what else the middleware "
        "started, without record buffers and without shared segments, which stand apart.",
        use=LIMIT | PRIMARY | COMPARED | EFFECT,
        counter="pss",
        whatever_load=True,
    ),
    _metric(
        "pss_publisher",
        "memory (PSS), publisher",
        "bytes",
        "positive",
        "The same for the publishing processes.",
        whatever_load=True,
    ),
    _metric(
        "pss_subscription",
        "memory (PSS), subscription",
        "bytes",
        "positive",
        "The same for the receiving processes.",
        whatever_load=True,
    ),
    _metric(
        "pss_daemon",
        "memory (PSS), daemons",
        "bytes",
        "positive",
        "The same for the middleware's daemons.",
        whatever_load=True,
    ),
    *(
        _metric(
            f"pss_growth_per_message_{side}",
            f"memory growth per message, {title}",
            "bytes",
            "amount",
            "Slope of the process's PSS in the second half of the window (Theil–Sen), without "
            "files, with shared segments, for "
            f"each message {done}. About 0 where nothing leaks.",
            per_message=True,
        )
        for side, title, done in (
            ("publisher", "publisher", "published"),
            ("subscription", "subscription", "delivered"),
            ("daemon", "daemons", "delivered"),
        )
    ),
    *(
        _metric(
            f"pss_at_{place}",
            f"memory (PSS), {place} of the window",
            "bytes",
            "positive",
            "Median PSS of all worker processes and daemons in that part of the window, with all "
            "that they map but files: the recorder's buffers and shared segments too, so that only "
            "the difference between two parts says anything.",
        )
        for place in ("begin", "middle", "end")
    ),
    _metric(
        "rss",
        "memory (RSS)",
        "bytes",
        "positive",
        "Resident set size of all worker processes, daemons and what else the middleware started, "
        "without record buffers and without shared segments, which stand apart; other pages that "
        "they share count in each.",
        use=PRIMARY,
        counter="rss",
        whatever_load=True,
    ),
    _metric(
        "peak_rss",
        "peak memory (RSS)",
        "bytes",
        "positive",
        "The highest resident set size that each of these processes reached, added up: with shared "
        "segments, without record buffers.",
        counter="peak_rss",
        use=PRIMARY,
        whatever_load=True,
    ),
    _metric(
        "virtual_memory",
        "virtual memory",
        "bytes",
        "positive",
        "Addresses that all these processes have asked for, used or not, without the recorder's.",
        counter="virtual",
        whatever_load=True,
    ),
    _metric(
        "threads",
        "threads",
        "count",
        "amount",
        "Threads of all these processes at the end, the harness's included.",
        counter="threads",
    ),
    _metric(
        "shared_memory",
        "shared segments",
        "bytes",
        "amount",
        "Proportional share of the shared-memory segments mapped by all worker processes, daemons "
        "and what else the middleware started, in use (resident).",
        counter="shared_pss",
        whatever_load=True,
    ),
)
