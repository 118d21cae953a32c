"""How many messages each endpoint of a graph will send and read, by its arrivals and by when it and
its peers are there.

Times are ns from the start of the warm-up. A late joiner's schedule begins when it joins.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.suite.timeline import Timeline, to_ns
from rmwbench.suite.workload.arrival import Relay
from rmwbench.suite.workload.arrival import fewest as fewest_of
from rmwbench.suite.workload.topology import NodeLife


class Counts:
    """`drafts` are endpoints as dictionaries with `endpoint`, `kind`, `topic`, `arrival` and
    `life`."""

    def __init__(
        self,
        drafts: Sequence[Mapping[str, Any]],
        peers: Mapping[int, tuple[int, ...]],
        timeline: Timeline,
    ):
        self._drafts = {draft["endpoint"]: draft for draft in drafts}
        self._peers, self._timeline = peers, timeline
        self._known: dict[tuple[int, int, int, bool], int] = {}
        self._of_topic: dict[str, list[int]] = {}
        for draft in drafts:
            if draft["kind"] == "publisher":
                self._of_topic.setdefault(draft["topic"], []).append(draft["endpoint"])

    def sent(self, number: int) -> int:
        """A publisher or client sends all; a service a reply to each request; 0 of a
        subscription."""
        match self._drafts[number]["kind"]:
            case "subscription":
                return 0
            case "service":
                return self.received(number)
        return self._due(number, 0, self._timeline.end_ns)

    def received(self, number: int) -> int:
        """From all its writers; a client reads the reply of each of its services to each of its
        requests."""
        match self._drafts[number]["kind"]:
            case "publisher":
                return 0
            case "client":
                return self.sent(number) * len(self._peers[number])
        return sum(self._due(writer, 0, self._timeline.end_ns) for writer in self._peers[number])

    def steady(self, number: int) -> int:
        """In the steady state, while it is there: the fewest, whatever phases are drawn."""
        begin_ns, end_ns = self._span(self._drafts[number]["life"])
        begin_ns = max(begin_ns, self._timeline.warmup_ns)
        writers = (
            (number,)
            if self._drafts[number]["kind"] in ("publisher", "client")
            else self._peers[number]
        )
        return sum(self._due(writer, begin_ns, end_ns, fewest=True) for writer in writers)

    def _span(self, life: NodeLife) -> tuple[int, int]:
        """When it is there."""
        begin_ns = 0 if life.begin_s is None else self._timeline.warmup_ns + to_ns(life.begin_s)
        end_ns = (
            self._timeline.end_ns
            if life.end_s is None
            else self._timeline.warmup_ns + to_ns(life.end_s)
        )
        return begin_ns, end_ns

    def _due(self, number: int, begin_ns: int, end_ns: int, *, fewest: bool = False) -> int:
        """What a publisher or client sends in a span, at most or at least; a relay sends what all
        who publish the topic it relays do."""
        key = (number, begin_ns, end_ns, fewest)
        if key not in self._known:
            draft = self._drafts[number]
            origin_ns, last_ns = self._span(draft["life"])
            begin_ns, end_ns = max(begin_ns, origin_ns), min(end_ns, last_ns)
            if begin_ns >= end_ns:
                self._known[key] = 0
            elif isinstance(draft["arrival"], Relay):
                sources = self._of_topic.get(draft["arrival"].source, ())
                self._known[key] = sum(
                    self._due(source, begin_ns, end_ns, fewest=fewest) for source in sources
                )
            else:
                span = begin_ns - origin_ns, end_ns - origin_ns
                arrival = draft["arrival"]
                self._known[key] = fewest_of(arrival, *span) if fewest else arrival.count(*span)
        return self._known[key]
