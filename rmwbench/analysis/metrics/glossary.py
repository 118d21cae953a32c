"""Every metric's name, unit, title and meaning in one place: the analysis computes by it, reports
explain by it."""

from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.stats.quantile import needed

Kind = Literal["quantile", "positive", "amount", "fraction"]


@dataclass(frozen=True)
class Entry:
    """`kind` says how trials are put together: `quantile` (of the sample `source`), `positive`
    (geometric mean), `amount` (mean, may be 0), `fraction` (counts over counts).
    """

    name: str
    title: str
    unit: str
    kind: Kind
    text: str
    source: str = ""
    q: float = 0.0

    def document(self) -> dict[str, str]:
        return {"title": self.title, "unit": self.unit, "text": self.text}


def _percentiles(
    stem: str, title: str, text: str, qs: tuple[float, ...], of: str = "messages"
) -> list[Entry]:
    out = []
    for q in qs:
        label = f"{q * 100:g}".replace(".", "")
        name = "median" if q == 0.5 else f"p{q * 100:g}"
        beyond = (
            f"half of the {of} take longer"
            if q == 0.5
            else f"{(1 - q) * 100:.3g} % of the {of} take longer"
        )
        rule = f"Printed from {needed(q)} {of} on; below that a bound."
        out.append(
            Entry(
                f"{stem}_p{label}",
                f"{title}, {name}",
                "ns",
                "quantile",
                f"{text} {beyond[0].upper()}{beyond[1:]}. {rule}",
                stem,
                q,
            )
        )
    return out


def _periods(side: str, text: str, too_few: str) -> list[Entry]:
    """`too_few`: what one of that side did that has no period."""
    stem = f"{side}_period"
    return [
        *_percentiles(stem, f"period of a {side}", text, (0.5, 0.99), "periods"),
        Entry(
            f"{stem}_longest",
            f"mean period of the slowest {side}",
            "ns",
            "positive",
            f"Each {side}'s mean of these, of the {side} in which it is longest: whether every "
            "one of them keeps its period, which a rate of all together does not tell. What an "
            "edge of the window cuts counts where it is longer than every whole period. One "
            f"that {too_few} counts as long as it was there, and has no part in the percentiles.",
            stem,
        ),
    ]


_ENTRIES = [
    *_percentiles(
        "response_latency",
        "response latency",
        "From the time the schedule wanted the message sent until it is in the reader's hands; of "
        "a service's client, until the reply is in its hands. A publisher that falls behind does "
        "not hide it, and a message that never arrives counts as infinitely late.",
        (0.5, 0.9, 0.99, 0.999),
    ),
    *_percentiles(
        "consumed_latency",
        "latency until consumed",
        "From the intended send time until the consumer has read the payload: shows what taking by "
        "reference postpones.",
        (0.5, 0.9, 0.99),
    ),
    *_percentiles(
        "service_latency",
        "service latency",
        "From the publish call until the message is taken: the middleware alone, without the wait "
        "before the call and without our writing of the payload, into a loan, too. Messages that "
        "were never sent are not in it.",
        (0.5, 0.9, 0.99),
    ),
    Entry(
        "service_latency_mean",
        "service latency, mean",
        "ns",
        "positive",
        "The same, the mean of the messages that arrived: what published evaluations print. Lost "
        "messages are not in it, so it favours an arm that loses more; no verdict rests on it.",
        "service_latency",
    ),
    *_percentiles(
        "publish_call",
        "publish call",
        "How long the publish call keeps its caller, calls that return an error included.",
        (0.5, 0.9, 0.99),
    ),
    *_percentiles(
        "writing",
        "writing the payload",
        "From the moment that a message is taken up until its payload is written, or how long "
        "writing into a loan took: the instrument's own work, as much in every arm. It is part of "
        "the response latency and of the processor time per message, and not of the service "
        "latency.",
        (0.5,),
    ),
    Entry(
        "publish_call_max",
        "longest publish call",
        "ns",
        "positive",
        "The longest publish call of a trial's steady messages, calls that return an error "
        "included; infinite where one never returned. Where a history is full it stands against "
        "max_blocking_time.",
    ),
    *_percentiles(
        "arrival_jitter",
        "arrival jitter",
        "How far the distance of two consecutive messages' arrivals is from the distance intended "
        "(RFC 3550, |D|). Where one of the two did not arrive there is none.",
        (0.5, 0.99),
    ),
    *_periods(
        "publisher",
        "From one publish call of a publisher to its next, within the steady window. A publisher "
        "that was held back catches up with its schedule, so one long period is followed by short "
        "ones.",
        "made fewer than two calls",
    ),
    *_periods(
        "subscription",
        "From one sound arrival at a subscription to its next, within the steady window, all its "
        "writers together. A lost message makes a period longer.",
        "got fewer than two messages",
    ),
    *_percentiles(
        "request_leg",
        "request leg",
        "From a client's call until its service has the request in its hands: the first of a "
        "service's two legs.",
        (0.5, 0.99),
    ),
    *_percentiles(
        "reply_leg",
        "reply leg",
        "From the service's call that sends the reply until the client has it in its hands.",
        (0.5, 0.99),
    ),
    *_percentiles(
        "end_to_end_latency",
        "end-to-end latency",
        "From the time the schedule wanted a source's message sent until the last subscription of "
        "the chain has what the relays made of it, along the causes that each relay records; of a "
        "service's client, until it has the reply. Once per way from a source to a last "
        "subscription. What a hop lost never arrives.",
        (0.5, 0.9, 0.95, 0.99, 0.999),
    ),
    Entry(
        "end_to_end_latency_max",
        "end-to-end latency, longest",
        "ns",
        "positive",
        "The slowest message of a trial; infinite where one never reached the end.",
    ),
    *_percentiles(
        "end_to_end_service_latency",
        "end-to-end service latency",
        "The same from the source's publish call, without the wait before it. Messages that the "
        "call did not accept are not in it.",
        (0.5, 0.9, 0.95, 0.99),
    ),
    *_percentiles(
        "hop_transport",
        "a hop's transport",
        "From a publish call on the chain until the next node has the message; all hops together.",
        (0.5, 0.95, 0.99),
    ),
    *_percentiles(
        "hop_relay",
        "a relay's own time",
        "From the moment a relay has a message until its own publish call for it: reading the "
        "payload, making the next message. All relays together; of a service, until the call that "
        "replies.",
        (0.5, 0.95, 0.99),
    ),
    *_percentiles(
        "chain_transport",
        "all transports of a chain",
        "What a message spends between publish calls and arrivals, over all hops of its way.",
        (0.5, 0.95),
    ),
    *_percentiles(
        "chain_relay",
        "all relays of a chain",
        "What a message spends within relays, over all of its way.",
        (0.5, 0.95),
    ),
    Entry(
        "end_to_end_loss",
        "loss along the chain",
        "fraction",
        "fraction",
        "Of the messages that the source's publish call accepted, once per way: those that did not "
        "reach the end, those under way apart.",
    ),
    Entry(
        "end_to_end_late_share",
        "late along the chain",
        "fraction",
        "fraction",
        "Of the messages that the source's publish call accepted, once per way: those under way "
        "when the trial stopped waiting.",
    ),
    Entry(
        "end_to_end_never_sent_share",
        "never sent by the source",
        "fraction",
        "fraction",
        "Of the messages that the source's schedule wanted, once per way: those that no publish "
        "call accepted.",
    ),
    Entry(
        "end_to_end_undelivered",
        "undelivered along the chain",
        "fraction",
        "fraction",
        "Of the messages that the source's schedule wanted, once per way: those that did not reach "
        "the end for any reason except being under way. Verdicts on an end-to-end metric judge this "
        "first.",
    ),
    *(
        Entry(name, title, "messages", "amount", text + " Once per way, per trial.")
        for name, title, text in (
            (
                "lost_in_transport",
                "lost in transport",
                "Published on the chain, and the next node never had them.",
            ),
            ("lost_in_relays", "lost in relays", "A relay had them and did not publish them on."),
        )
    ),
    *(
        Entry(
            f"layer_share_{name}",
            f"share of {title}",
            "fraction",
            "amount",
            "Of the time from the source's publish call to the last callback, over all hops: "
            f"{text}. Of messages around the median, in traced trials alone.",
        )
        for name, title, text in (
            (
                "ros2",
                "ROS 2's layers",
                "what rclcpp, rcl and rmw take on both sides, without the notification",
            ),
            (
                "ros2_largest",
                "the largest part of ROS 2's layers",
                "the largest of four parts, which are what rmw takes to publish, what lies above "
                "it there, what rmw takes to take, and what lies above it there",
            ),
            ("notification", "the notification", "from rmw_wait's return until rcl_take begins"),
            ("middleware", "the middleware", "from its own write until rmw_wait returns"),
            ("relays", "relays", "from a relay's callback until its next publish call"),
            ("remainder", "the remainder", "what could not be told apart"),
        )
    ),
    Entry(
        "longest_stall",
        "longest stall",
        "ns",
        "positive",
        "The longest time in the steady window in which a reader got nothing sound from one of its "
        "writers, counted to the window's edges, or to where either of the two joined or left; a "
        "stall that lasts until an edge is at least as long. "
        "Never below the workload's own period.",
    ),
    Entry(
        "loss",
        "loss",
        "fraction",
        "fraction",
        "Of the messages that publish calls accepted, once per reader: the fraction of which "
        "nothing sound ever arrived. What was late is not lost. Of a service's clients: requests "
        "that got no reply.",
    ),
    Entry(
        "late_share",
        "late",
        "fraction",
        "fraction",
        "Of the messages that publish calls accepted, once per reader: the fraction that was still "
        "under way when the trial stopped waiting. Infinitely late in every latency, and not lost.",
    ),
    Entry(
        "never_sent_share",
        "never sent",
        "fraction",
        "fraction",
        "Of the messages that the schedule wanted, once per reader: the fraction that was not "
        "sent, because the publisher did not come to it before the schedule's grace ended, or "
        "because the publish call returned an error. What held the publisher stands beside it.",
    ),
    Entry(
        "undelivered",
        "undelivered",
        "fraction",
        "fraction",
        "Of the messages that the schedule wanted, once per reader: the fraction that did not "
        "arrive for any reason (lost, late, corrupt, failed, never sent) except being under way. "
        "Verdicts judge this first.",
    ),
    # Where nothing is undelivered, the bound of the count holds for its longest run, too.
    Entry(
        "undelivered_in_a_row",
        "undelivered in a row",
        "messages",
        "amount",
        "The longest run of consecutive messages of one publisher that one reader did not get, "
        "for any reason but that they were under way: how long a consumer had to do without. Of "
        "the worst pair of a trial.",
    ),
    *(
        Entry(name, title, "messages", "amount", text + " Per trial.")
        for name, title, text in (
            (
                "under_way",
                "under way",
                "Of reliable streams: not arrived when the trial stopped waiting, while messages "
                "were still coming. Infinitely late in every latency, and not lost.",
            ),
            (
                "lost_start",
                "lost at the start",
                "Lost before the first delivery of the steady window; all of them where nothing "
                "was delivered.",
            ),
            ("lost_middle", "lost in the middle", "Lost between the first and the last delivery."),
            ("lost_end", "lost at the end", "Lost after the last delivery."),
            (
                "late",
                "arrived late",
                "Of best-effort streams: arrived only after the drain had ended.",
            ),
            ("corrupt", "corrupt", "Arrived with a wrong checksum or size, every copy counted."),
            (
                "duplicates",
                "duplicates",
                "Arrived sound and in time, but not for the first time; of a client: requests "
                "answered again.",
            ),
            (
                "reordered",
                "reordered",
                "First arrivals after a message with a higher sequence number of the same writer.",
            ),
            ("foreign", "foreign", "Arrivals that do not belong to this trial."),
            (
                "never_sent",
                "messages never sent",
                "Wanted by the schedule, but the publisher had not come to them when the "
                "schedule's grace ended.",
            ),
            ("publish_failures", "failed publishes", "Publish calls that returned an error."),
        )
    ),
    Entry(
        "offered_rate",
        "offered rate",
        "hz",
        "positive",
        "Messages per second that the schedule wanted, over the steady window, all publishers "
        "together.",
    ),
    Entry(
        "sent_rate",
        "sent rate",
        "hz",
        "amount",
        "Publish calls made within the steady window, per second of it, all publishers together: a "
        "publisher that is held back stays below the offered rate. Of a single publisher its "
        "mean period is one divided by it.",
    ),
    Entry(
        "sent_rate_variation",
        "variation of the sent rate",
        "count",
        "amount",
        "The standard deviation of the messages published in each whole second of the window, over "
        "their mean; of windows of six seconds at least.",
    ),
    Entry(
        "sent_rate_early",
        "sent rate of the beginning over that of the end",
        "count",
        "amount",
        "Messages published per second in the second and third second of the window, over those in "
        "its last third: what a history that fills up, or a link that is full, holds back later.",
    ),
    Entry(
        "other_replies",
        "replies to others, per reply of one's own",
        "count",
        "amount",
        "Replies that reached a client which had not asked, those of the barrier among them, per "
        "reply that a client got, over the whole trial; of workers that count them.",
    ),
    Entry(
        "achieved_rate",
        "achieved rate",
        "hz",
        "amount",
        "First sound arrivals within the closed steady window per second, all readers together.",
    ),
    Entry(
        "achieved_throughput",
        "throughput",
        "bytes/s",
        "amount",
        "Payload bytes of those arrivals per second; of a service, of its replies.",
    ),
    Entry(
        "match_time",
        "time to match",
        "ns",
        "positive",
        "From the last endpoint's creation until every endpoint sees all its peers.",
    ),
    Entry(
        "first_message_time",
        "time to the first message",
        "ns",
        "positive",
        "From the last endpoint's creation until every reader has got a message from each of its "
        "writers.",
    ),
    Entry(
        "late_match_time",
        "a late joiner's time to match",
        "ns",
        "positive",
        "From the command by which a reader joins within the steady window until it sees all its "
        "peers, the longest of a trial; infinite where it never did. What its process needs to "
        "open its session, and to start where it was killed, is in it.",
    ),
    Entry(
        "graph_time",
        "time to the complete graph",
        "ns",
        "positive",
        "From the command that creates the endpoints until every endpoint sees all its peers: how "
        "long a system of many nodes takes to come up, once its processes run and their sessions "
        "are open.",
    ),
    Entry(
        "ready_time",
        "time to open and match",
        "ns",
        "positive",
        "From the command that opens the sessions until every endpoint sees all its peers, as the "
        "orchestrator saw it: what a session does while it opens (a TLS handshake, the making of a "
        "trial's keys) is in it.",
    ),
    Entry(
        "daemon_time",
        "time to start the daemons",
        "ns",
        "positive",
        "How long starting the middleware's daemons (RouDi, routers, a discovery server) took, one "
        "after the other and each until it serves, before the first node's process was started. It "
        "is in no other time. What is started again after it was killed does not count.",
    ),
    *_percentiles(
        "endpoint_match",
        "an endpoint's time to match",
        "From the moment when its process had created all of its endpoints until an endpoint sees "
        "all its peers; 0 where it saw them before.",
        (0.5, 0.9, 0.99),
    ),
    Entry(
        "discovery_bytes",
        "bytes until the graph was complete",
        "bytes",
        "amount",
        "Bytes that all interfaces of the host sent from before the first session opened until "
        "every endpoint saw all its peers.",
    ),
    Entry(
        "discovery_packets",
        "packets until the graph was complete",
        "count",
        "amount",
        "The same in packets.",
    ),
    Entry(
        "multicast_frames",
        "multicast frames",
        "count",
        "amount",
        "Frames with discovery, data or acknowledgements that hosts sent to everybody over the whole "
        "trial, each once; of trials with a whole log of frames.",
    ),
    Entry(
        "history_wanted",
        "history that late joiners may expect",
        "messages",
        "amount",
        "Messages that were sent before a late transient-local reader was matched: the last ones, "
        "as many as its history holds, of which those that pass its content filter. A lifespan is "
        "not taken off. Per trial.",
    ),
    Entry(
        "history_delivered",
        "history delivered",
        "messages",
        "amount",
        "How many of those it was given. Per trial.",
    ),
    Entry(
        "history_time",
        "time to the history",
        "ns",
        "positive",
        "From a late reader's creation until the last message of its history is in its hands; "
        "infinite where one never came.",
    ),
    Entry(
        "cpu_per_message",
        "CPU per message",
        "ns",
        "positive",
        "CPU time of all worker processes, of their middleware's daemons and of whatever else it "
        "started, in the steady window for each message delivered: kernel time in their system "
        "calls included, interrupts that hit other processes not.",
    ),
    Entry(
        "cpu_per_message_publisher",
        "CPU per message, publisher",
        "ns",
        "positive",
        "CPU time of the publishing processes for each message that publishers published.",
    ),
    Entry(
        "cpu_per_message_subscription",
        "CPU per message, subscription",
        "ns",
        "positive",
        "CPU time of the receiving processes for each message that subscriptions got.",
    ),
    Entry(
        "cpu_per_gigabyte",
        "CPU per gigabyte",
        "s/GB",
        "positive",
        "The same CPU time for each gigabyte (10⁹ bytes) of payload delivered; of a service, of its "
        "replies.",
    ),
    Entry(
        "cpu_cores",
        "CPU",
        "cores",
        "positive",
        "CPU time of all worker processes, daemons and what else the middleware started, per "
        "second of the steady window.",
    ),
    *(
        Entry(
            f"cpu_by_second_p{q * 100:g}",
            f"CPU by second, {name}",
            "cores",
            "quantile",
            "CPU time of the same processes in each second of the steady window, where a time "
            f"series was asked for (`sampling: {{series_hz: 1}}`). {share} of the seconds take "
            f"more. Printed from {needed(q)} seconds on; below that a bound.",
            "cpu_by_second",
            q,
        )
        for q, name, share in ((0.5, "median", "Half"), (0.95, "p95", "5 %"))
    ),
    Entry(
        "cpu_cores_daemon",
        "CPU, daemons",
        "cores",
        "amount",
        "The share of brokers, routers and other daemons.",
    ),
    Entry(
        "cpu_cores_other",
        "CPU, other processes",
        "cores",
        "amount",
        "The share of processes that nobody named but that run in the host: a middleware started "
        "them.",
    ),
    Entry(
        "cpu_cores_harness",
        "CPU, harness",
        "cores",
        "amount",
        "CPU time of our own processes beside the workers (orchestrator, sampler, the host's init) "
        "per second of the steady window. In no other figure.",
    ),
    Entry(
        "cpu_cores_sampler",
        "CPU, sampler",
        "cores",
        "amount",
        "The sampler's part of that: what it costs to know.",
    ),
    Entry(
        "softirq_cores",
        "soft interrupts",
        "cores",
        "amount",
        "Processor time of the whole machine (of all together where hosts are machines) in soft "
        "interrupts, mostly its network receive path, "
        "per second of the steady window; in steps of 10 ms. On most kernels the part that runs "
        "within a process's system call is in that process's CPU time too, so the two must not be "
        "added.",
    ),
    Entry(
        "context_switches_per_message",
        "context switches per message",
        "count",
        "amount",
        "Voluntary and involuntary switches of the same processes for each message delivered.",
    ),
    Entry(
        "page_faults_per_message",
        "page faults per message",
        "count",
        "amount",
        "Minor and major faults of the same processes in the steady window for each message "
        "delivered: memory that is mapped anew for each message shows here.",
    ),
    *(
        Entry(
            f"{stem}_per_message_{side}",
            f"{title} per message, {side}",
            unit,
            "amount",
            text + " " + of,
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
    Entry(
        "wake_ups",
        "wake-ups",
        "hz",
        "amount",
        "How often per second of the steady window threads of the same processes gave the "
        "processor back and were woken again (voluntary context switches): what an idle node costs "
        "a sleeping machine.",
    ),
    Entry(
        "processor_wait_per_message",
        "wait for a processor per message",
        "ns",
        "amount",
        "How long threads of the same processes wanted to run and had no processor, for each "
        "message delivered: large where the machine, not the middleware, sets the latency.",
    ),
    Entry(
        "wire_bytes_per_payload_byte",
        "bytes on the wire per payload byte",
        "1",
        "amount",
        "Bytes that all interfaces of the host sent in the steady window for each byte of payload "
        "delivered: headers, acknowledgements, discovery. Near 0 where messages travel in shared "
        "memory. Without what a background load of ours sent; on the shared host the loopback "
        "alone.",
    ),
    Entry(
        "wire_bytes_per_payload_byte_lo",
        "bytes on the wire per payload byte, loopback",
        "1",
        "amount",
        "The same, over the loopback alone.",
    ),
    Entry(
        "wire_bytes_per_payload_byte_eth0",
        "bytes on the wire per payload byte, eth0",
        "1",
        "amount",
        "The same, over eth0 alone.",
    ),
    Entry(
        "packets_per_message",
        "packets per message",
        "count",
        "amount",
        "Packets that all interfaces sent in the steady window for each message delivered; a "
        "packet on the loopback holds up to 64 KiB.",
    ),
    Entry(
        "power",
        "power",
        "W",
        "positive",
        "Power of the processor packages and their memory (RAPL), or at the board's input, over "
        "the steady window: the whole machine, idle consumption included. Of all machines "
        "together where hosts are machines.",
    ),
    Entry(
        "energy_per_message",
        "energy per message",
        "J",
        "positive",
        "That energy for each message delivered, idle consumption included.",
    ),
    Entry(
        "pss",
        "memory (PSS)",
        "bytes",
        "positive",
        "Proportional set size of all worker processes, daemons and what else the middleware "
        "started, without record buffers and without shared segments, which stand apart.",
    ),
    Entry(
        "pss_publisher",
        "memory (PSS), publisher",
        "bytes",
        "positive",
        "The same for the publishing processes.",
    ),
    Entry(
        "pss_subscription",
        "memory (PSS), subscription",
        "bytes",
        "positive",
        "The same for the receiving processes.",
    ),
    Entry(
        "pss_daemon",
        "memory (PSS), daemons",
        "bytes",
        "positive",
        "The same for the middleware's daemons.",
    ),
    *(
        Entry(
            f"pss_growth_per_message_{side}",
            f"memory growth per message, {title}",
            "bytes",
            "amount",
            "Slope of the process's PSS in the second half of the window (Theil–Sen), without "
            "files, with shared segments, for "
            f"each message {done}. About 0 where nothing leaks.",
        )
        for side, title, done in (
            ("publisher", "publisher", "published"),
            ("subscription", "subscription", "delivered"),
            ("daemon", "daemons", "delivered"),
        )
    ),
    *(
        Entry(
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
    Entry(
        "rss",
        "memory (RSS)",
        "bytes",
        "positive",
        "Resident set size of all worker processes, daemons and what else the middleware started, "
        "without record buffers and without shared segments, which stand apart; other pages that "
        "they share count in each.",
    ),
    Entry(
        "peak_rss",
        "peak memory (RSS)",
        "bytes",
        "positive",
        "The highest resident set size that each of these processes reached, added up: with shared "
        "segments, without record buffers.",
    ),
    Entry(
        "virtual_memory",
        "virtual memory",
        "bytes",
        "positive",
        "Addresses that all these processes have asked for, used or not, without the recorder's.",
    ),
    Entry(
        "threads",
        "threads",
        "count",
        "amount",
        "Threads of all these processes at the end, the harness's included.",
    ),
    Entry(
        "shared_memory",
        "shared segments",
        "bytes",
        "amount",
        "Proportional share of the shared-memory segments mapped by all worker processes, daemons "
        "and what else the middleware started, in use (resident).",
    ),
    Entry(
        "link_bytes_per_payload_byte",
        "bytes on the links per payload byte",
        "1",
        "positive",
        "What all hosts sent into the network in the steady window, whole Ethernet frames, each "
        "counted once, for each payload byte that reached another host. 1 would be payload alone; "
        "several readers on other hosts can make it less, and so can compression.",
    ),
    *(
        Entry(
            f"link_bytes_per_payload_byte_{kind}",
            f"bytes on the links per payload byte, {title}",
            "1",
            # Averaged as the whole is, or it would exceed the whole where trials scatter; the
            # others may be 0.
            "positive" if kind == "data" else "amount",
            f"The part of it in frames that carry {what}.",
        )
        for kind, title, what in (
            ("data", "data", "messages, with all headers, repeats included"),
            (
                "acknowledgement",
                "acknowledgements",
                "nothing but acknowledgements, heartbeats and gaps",
            ),
            ("discovery", "discovery", "the middleware's own discovery"),
            ("resolution", "resolution", "address resolution and group membership"),
            ("other", "other", "anything else"),
        )
    ),
    Entry(
        "retransmitted_frames",
        "frames sent again",
        "fraction",
        "fraction",
        "Of the frames with data that hosts sent: those whose content the same host had sent "
        "before.",
    ),
    Entry(
        "retransmitted_bytes",
        "bytes sent again",
        "fraction",
        "amount",
        "The same by bytes: a repeated fragment of an image weighs more than a repeated small "
        "message.",
    ),
    Entry(
        "frames_lost",
        "frames lost",
        "fraction",
        "fraction",
        "Of the frames that met a link, once per destination: those that the network did not "
        "deliver, for any reason (loss, full queue, out of range, too large). A multicast frame "
        "that was lost on its way up counts for every other host of its network. The report says "
        "on which link.",
    ),
    Entry(
        "link_utilisation",
        "use of the links",
        "fraction",
        "amount",
        "The share of the steady window in which the busiest direction of a link with a constant "
        "rate had a frame on the wire. A frame that was lost behind the rate had taken its time, "
        "one that found the queue full had not.",
    ),
    *(
        Entry(
            name,
            title,
            "fraction",
            "fraction",
            text + " Of all messages published for readers of which either side joined within the "
            "window.",
        )
        for name, title, text in (
            (
                "lost_in_discovery",
                "lost before the first delivery",
                "Messages that were lost before the first one came through: what finding each "
                "other cost.",
            ),
            (
                "lost_unmatched",
                "lost before the match",
                "The part of these that was due before the reader saw all its writers. Of "
                "subscriptions alone: nobody asks a late client.",
            ),
            (
                "lost_in_delivery",
                "lost between first and last delivery",
                "What the established stream lost.",
            ),
            (
                "lost_in_tail",
                "lost after the last delivery",
                "What was lost when nothing came through any more.",
            ),
        )
    ),
    Entry(
        "lost_after_first",
        "loss from the first delivery on",
        "fraction",
        "fraction",
        "Of the messages published from the first delivered one on: those that were lost, those "
        "under way apart. It is what a loss figure would be if it did not count discovery.",
    ),
    Entry(
        "recovery_time",
        "time to recover",
        "ns",
        "positive",
        "From the moment when a link or a node is back until a reader has its first message that "
        "was published after it; of several readers and outages the slowest. Infinite where none "
        "came until the end, or the node that should publish them never came up; about half a "
        "message's period at best. A reader for which none was due is not asked.",
    ),
    Entry(
        "outage_stall",
        "silence around an outage",
        "ns",
        "positive",
        "The longest time without an arrival that an outage falls into: the outage and what it "
        "took to recover, counted to the window's edges. Of a stream that did not recover it is "
        "the least that it can be.",
    ),
    Entry(
        "stall_outside_outages",
        "longest stall outside of outages",
        "ns",
        "positive",
        "The longest time without an arrival that no outage falls into, of trials in which "
        "something was interrupted or joined late.",
    ),
    *(
        Entry(
            name,
            title,
            "messages",
            "amount",
            text + " Once per reader, all outages of a trial together, those under way apart.",
        )
        for name, title, text in (
            (
                "lost_in_outage",
                "lost in the outage",
                "Published while a link, a daemon or a service was away, and never delivered.",
            ),
            (
                "repaired_after_outage",
                "delivered after the outage",
                "Published while a link, a daemon or a service was away, and delivered once it was "
                "back: late, not lost.",
            ),
            (
                "lost_before_recovery",
                "lost before the recovery",
                "Published when it was back but before the first new message came, and never "
                "delivered.",
            ),
            (
                "lost_after_recovery",
                "lost after the recovery",
                "Published after the first new message had come, and never delivered.",
            ),
            (
                "duplicates_after_outage",
                "duplicates after the outage",
                "Delivered again, after it was back.",
            ),
        )
    ),
    Entry(
        "recovery_bytes",
        "bytes spent on recovering",
        "bytes",
        "amount",
        "What hosts sent between an outage's end and the recovery of its last reader, without new "
        "data: discovery, acknowledgements, address resolution, repeats.",
    ),
    Entry(
        "stray_bytes",
        "bytes into interfaces that lead nowhere",
        "bytes",
        "amount",
        "What all hosts sent into the further interfaces that their network gives them, from "
        "before the first session opened until the steady state's end.",
    ),
    Entry(
        "loopback_bytes",
        "bytes that hosts sent to themselves",
        "bytes",
        "amount",
        "What went over the loopback interfaces of all hosts in the same time, of trials with "
        "further interfaces: among it what was meant for another host and sent to an address that "
        "the sender has too.",
    ),
    Entry(
        "bring_up_time",
        "time until all nodes are active",
        "ns",
        "positive",
        "From the launch of a workload's lifecycle nodes until their manager knows that the last "
        "one is active; infinite where one never is within the window. Starting the programs is "
        "not in it, opening their sessions is.",
    ),
    Entry(
        "half_up_time",
        "time until half of the nodes are active",
        "ns",
        "positive",
        "The same until half of the nodes are active.",
    ),
    Entry(
        "longest_change",
        "longest change of state",
        "ns",
        "positive",
        "The longest time that the manager waited for one node to be configured or activated, in a "
        "trial; infinite where one was not answered in time. A service time-out of that length "
        "would have been enough.",
    ),
    *(
        Entry(name, title, "fraction", "fraction", text)
        for name, title, text in (
            (
                "never_active",
                "never active",
                "Lifecycle nodes that were not active when the window ended.",
            ),
            (
                "stopped_at_session",
                "session did not open",
                "The part of these whose process could not open its session.",
            ),
            (
                "stopped_at_service",
                "service not available",
                "The part of these whose session opened, and whose services the manager did not "
                "see in time.",
            ),
            (
                "stopped_at_configure",
                "not configured",
                "The part of these that did not answer in time, or refused, or had not been "
                "configured when the window ended.",
            ),
            ("stopped_at_activate", "not activated", "The same of activating."),
        )
    ),
    Entry(
        "cpu_per_node",
        "CPU time per lifecycle node",
        "ns",
        "positive",
        "CPU time of all processes and daemons in the whole window, the start of their sessions, "
        "the bring-up and the rest after it, divided by the number of lifecycle nodes. Windows of "
        "different lengths are not comparable.",
    ),
    Entry(
        "pss_per_node",
        "memory per lifecycle node",
        "bytes",
        "positive",
        "Proportional set size of all processes and daemons after the window, divided by the "
        "number of lifecycle nodes.",
    ),
    Entry(
        "cross_goodput",
        "goodput of the traffic of others",
        "bytes/s",
        "amount",
        "What the receivers of the network's cross traffic (TCP between hosts of its own) read per "
        "second of the steady window, all flows together, without headers.",
    ),
    Entry(
        "cross_goodput_least",
        "goodput of the traffic of others, worst second",
        "bytes/s",
        "amount",
        "The same in that whole second of the window in which they read least.",
    ),
    Entry(
        "cross_cpu_cores",
        "CPU of the traffic of others",
        "cores",
        "amount",
        "Processor time of its senders and receivers, which are on this machine too, per second of "
        "the window. It is in no figure of a middleware; the link's own time for its frames is "
        "among our processes'.",
    ),
    Entry(
        "leftover_files",
        "files left behind",
        "count",
        "amount",
        "Files and sockets in /dev/shm and /tmp of all hosts after every process that still ran "
        "had exited in order. Directories are not counted.",
    ),
    Entry(
        "leftover_bytes",
        "bytes left behind",
        "bytes",
        "amount",
        "What those files take of the memory that /dev/shm and /tmp lie in.",
    ),
]

GLOSSARY: dict[str, Entry] = {e.name: e for e in _ENTRIES}
"""Name -> entry, in the order in which a report lists them."""
