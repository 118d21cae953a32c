"""What hosts send to each other and into interfaces, and what the traffic of others gets."""

from functools import partial

from rmwbench.analysis.metrics.glossary.metric import (
    HIGHER,
    LOWER,
    NEITHER,
    NOTHING_COUNTED,
    Group,
    Metric,
    MetricScope,
)

GROUP = Group(
    "On the links",
    "What crossed the links between hosts in the steady window, for each payload byte that "
    "reached another host.",
)
OTHERS = Group(
    "Traffic of others",
    "TCP between hosts that are not the robot's, over the same network: what its receivers read "
    "in the steady window, all of it together. The CPU is that of its own processes, on this "
    "machine as everything else.",
)
INTERFACES = Group(
    "Further interfaces",
    "What hosts sent from before the first session until the window's end that could reach no "
    "other host: into interfaces that lead nowhere, and over the loopback to an address that two "
    "hosts have.",
)
_metric = partial(Metric, better=LOWER, of=MetricScope.LINKS, group=GROUP)

METRICS = (
    _metric(
        "link_bytes_per_payload_byte",
        "bytes on the links per payload byte",
        "1",
        "positive",
        "What all hosts sent into the network in the steady window, whole Ethernet frames, each "
        "counted once, for each payload byte that reached another host. 1 would be payload alone; "
        "several readers on other hosts can make it less, and so can compression.",
        heading="bytes per byte",
    ),
    *(
        _metric(
            f"link_bytes_per_payload_byte_{kind}",
            f"bytes on the links per payload byte, {title}",
            "1",
            # Averaged as the whole is, or it would exceed the whole where trials scatter; the
            # others may be 0.
            "positive" if kind == "data" else "amount",
            f"The part of it in frames that carry {what}.",
            heading=kind,
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
    _metric(
        "retransmitted_frames",
        "frames sent again",
        "fraction",
        "fraction",
        "Of the frames with data that hosts sent: those whose content the same host had sent "
        "before.",
        heading="sent again",
        absent=NOTHING_COUNTED,
    ),
    _metric(
        "retransmitted_bytes",
        "bytes sent again",
        "fraction",
        "amount",
        "The same by bytes: a repeated fragment of an image weighs more than a repeated small "
        "message.",
    ),
    _metric(
        "frames_lost",
        "frames lost",
        "fraction",
        "fraction",
        "Of the frames that met a link, once per destination: those that the network did not "
        "deliver, for any reason (loss, full queue, out of range, too large). A multicast frame "
        "that was lost on its way up counts for every other host of its network. The report says "
        "on which link.",
        heading="frames lost",
        absent=NOTHING_COUNTED,
    ),
    _metric(
        "link_utilisation",
        "use of the links",
        "fraction",
        "amount",
        "The share of the steady window in which the busiest direction of a link with a constant "
        "rate had a frame on the wire. A frame that was lost behind the rate had taken its time, "
        "one that found the queue full had not.",
        heading="busiest link",
    ),
    _metric(
        "cross_goodput",
        "goodput of the traffic of others",
        "bytes/s",
        "amount",
        "What the receivers of the network's cross traffic (TCP between hosts of its own) read per "
        "second of the steady window, all flows together, without headers.",
        of=MetricScope.CROSS_TRAFFIC,
        group=OTHERS,
        heading="goodput",
        better=HIGHER,
    ),
    _metric(
        "cross_goodput_least",
        "goodput of the traffic of others, worst second",
        "bytes/s",
        "amount",
        "The same in that whole second of the window in which they read least.",
        of=MetricScope.CROSS_TRAFFIC,
        group=OTHERS,
        heading="worst second",
        better=HIGHER,
    ),
    _metric(
        "cross_cpu_cores",
        "CPU of the traffic of others",
        "cores",
        "amount",
        "Processor time of its senders and receivers, which are on this machine too, per second of "
        "the window. It is in no figure of a middleware; the link's own time for its frames is "
        "among our processes'.",
        of=MetricScope.CROSS_TRAFFIC,
        group=OTHERS,
        heading="CPU",
        better=NEITHER,
        instead="cross_goodput",
    ),
    _metric(
        "stray_bytes",
        "bytes into interfaces that lead nowhere",
        "bytes",
        "amount",
        "What all hosts sent into the further interfaces that their network gives them, from "
        "before the first session opened until the steady state's end.",
        of=MetricScope.INTERFACES,
        group=INTERFACES,
        heading="into them",
    ),
    _metric(
        "loopback_bytes",
        "bytes that hosts sent to themselves",
        "bytes",
        "amount",
        "What went over the loopback interfaces of all hosts in the same time, of trials with "
        "further interfaces: among it what was meant for another host and sent to an address that "
        "the sender has too.",
        of=MetricScope.INTERFACES,
        group=INTERFACES,
        heading="to itself",
    ),
)
