"""How long a trial takes to come up, what finding each other costs, and what late readers are
given."""

from functools import partial
from math import inf

from rmwbench.analysis.metrics.glossary.metric import (
    EFFECT,
    GROWTH,
    HIGHER,
    LIMIT,
    LOWER,
    NEITHER,
    PRIMARY,
    Clocks,
    Group,
    Metric,
    MetricScope,
    percentiles,
)

GROUP = Group("Start-up")
_metric = partial(Metric, better=LOWER, of=MetricScope.START, group=GROUP)
_percentiles = partial(percentiles, metric=_metric)

METRICS = (
    _metric(
        "match_time",
        "time to match",
        "ns",
        "positive",
        "From the last endpoint's creation until every endpoint sees all its peers.",
        use=LIMIT | PRIMARY | EFFECT,
        clocks=Clocks.EVENTS,
        failed=inf,
    ),
    _metric(
        "first_message_time",
        "time to the first message",
        "ns",
        "positive",
        "From the last endpoint's creation until every reader has got a message from each of its "
        "writers.",
        use=PRIMARY,
        clocks=Clocks.EVENTS,
        failed=inf,
    ),
    _metric(
        "late_match_time",
        "a late joiner's time to match",
        "ns",
        "positive",
        "From the command by which a reader joins within the steady window until it sees all its "
        "peers, the longest of a trial; infinite where it never did. What its process needs to "
        "open its session, and to start where it was killed, is in it.",
        use=PRIMARY | LIMIT,
        clocks=Clocks.EVENTS,
        failed=inf,
    ),
    _metric(
        "graph_time",
        "time to the complete graph",
        "ns",
        "positive",
        "From the command that creates the endpoints until every endpoint sees all its peers: how "
        "long a system of many nodes takes to come up, once its processes run and their sessions "
        "are open.",
        use=LIMIT | PRIMARY | GROWTH,
        clocks=Clocks.EVENTS,
        failed=inf,
    ),
    _metric(
        "ready_time",
        "time to open and match",
        "ns",
        "positive",
        "From the command that opens the sessions until every endpoint sees all its peers, as the "
        "orchestrator saw it: what a session does while it opens (a TLS handshake, the making of a "
        "trial's keys) is in it.",
        use=LIMIT | PRIMARY | EFFECT,
        failed=inf,
    ),
    _metric(
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
        use={0.5: PRIMARY},
        absent="the trial recorded no creation of an endpoint",
    ),
    _metric(
        "discovery_bytes",
        "bytes until the graph was complete",
        "bytes",
        "amount",
        "Bytes that all interfaces of the host sent from before the first session opened until "
        "every endpoint saw all its peers.",
        use=GROWTH,
    ),
    _metric(
        "discovery_packets",
        "packets until the graph was complete",
        "count",
        "amount",
        "The same in packets.",
        use=GROWTH,
    ),
    _metric(
        "multicast_frames",
        "multicast frames",
        "count",
        "amount",
        "Frames with discovery, data or acknowledgements that hosts sent to everybody over the whole "
        "trial, each once; of trials with a whole log of frames.",
    ),
    _metric(
        "history_wanted",
        "history that late joiners may expect",
        "messages",
        "amount",
        "Messages that were sent before a late transient-local reader was matched: the last ones, "
        "as many as its history holds, of which those that pass its content filter. A lifespan is "
        "not taken off. Per trial.",
        better=NEITHER,
        instead="history_delivered",
    ),
    _metric(
        "history_delivered",
        "history delivered",
        "messages",
        "amount",
        "How many of those it was given. Per trial.",
        better=HIGHER,
    ),
    _metric(
        "history_time",
        "time to the history",
        "ns",
        "positive",
        "From a late reader's creation until the last message of its history is in its hands; "
        "infinite where one never came.",
        use=PRIMARY,
        failed=inf,
    ),
)
