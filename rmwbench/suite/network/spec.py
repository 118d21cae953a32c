"""The effects of one direction of a link on frames: as a suite writes them, and as the link
protocol has them (docs/formats/link.md).

The names of the fields have the units; an absent field has no effect.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rmwbench.suite.fault import At, Fault, Strict, in_range
from rmwbench.suite.network.link_trace import TraceFile

MOST_RATE_MBPS = 10_000
LONGEST_MS = 60_000
SMALLEST_MTU_BYTES, LARGEST_MTU_BYTES = 576, 9000
DEFAULT_CORRELATION_MS = 100.0
LARGEST_USUAL_FRAME_BYTES = 1514
"""The largest frame of an MTU of 1500, with Ethernet's header."""


def ms_to_ns(milliseconds: float) -> int:
    return round(milliseconds * 1e6)


def _rate(mbps: float) -> float:
    if not 0 < mbps <= MOST_RATE_MBPS:
        raise Fault(
            "this is not a valid rate of a link",
            expected=f"more than 0 and at most {MOST_RATE_MBPS} Mbit/s",
            actual=f"{mbps:g}",
            fix="leave `rate_mbps` out for a link without a limit" if mbps <= 0 else None,
        )
    return mbps


def _chance(value: float) -> float:
    if not 0 <= value <= 1:
        percent = 1 < value <= 100
        raise Fault(
            "a chance is between 0 and 1",
            expected="0 … 1",
            actual=f"{value:g}",
            fix=f"{value / 100:g} for {value:g} %" if percent else None,
        )
    return value


RateMbps = Annotated[float, AfterValidator(_rate)]
Chance = Annotated[float, AfterValidator(_chance)]
Milliseconds = Annotated[float, in_range("this is not a valid time of a link", 0, LONGEST_MS, "ms")]
MtuBytes = Annotated[
    int,
    in_range("this is not a valid MTU of a link", SMALLEST_MTU_BYTES, LARGEST_MTU_BYTES, "bytes"),
]


class Bernoulli(Strict):
    """Each frame is lost with chance `p`, independent of all others."""

    kind: Literal["bernoulli"]
    p: Chance

    @property
    def mean(self) -> float:
        return self.p

    @property
    def correlation(self) -> float:
        """The correlation between the losses of two consecutive frames."""
        return 0.0

    def wire(self) -> dict[str, Any]:
        return self.model_dump()


class GilbertElliott(Strict):
    """Bursts: with each frame a good link turns bad with chance `p`, and a bad link good with
    chance `r`; a frame is lost with the chance `good` or `bad` of the state."""

    kind: Literal["gilbert_elliott"]
    p: Chance
    r: Chance
    good: Chance = 0.0
    bad: Chance = 1.0

    @model_validator(mode="after")
    def _recovers(self) -> "GilbertElliott":
        if self.r == 0:
            raise Fault(
                "a link that never recovers is a blackhole",
                expected="`r` of more than 0",
                actual=0,
                at=("r",),
            )
        return self

    @property
    def mean(self) -> float:
        share = self.p / (self.p + self.r)
        return (1 - share) * self.good + share * self.bad

    @property
    def correlation(self) -> float:
        share, mean = self.p / (self.p + self.r), self.mean
        spread = share * (1 - share) * (self.bad - self.good) ** 2
        return (
            0.0
            if mean in (0.0, 1.0)
            else max(0.0, 1 - self.p - self.r) * spread / (mean * (1 - mean))
        )

    def wire(self) -> dict[str, Any]:
        return self.model_dump()


class GilbertElliottTime(Strict):
    """Bursts in time: the link is good for `good_ms` and bad for `bad_ms` on average, and changes
    at the same instants for every candidate."""

    kind: Literal["gilbert_elliott_time"]
    good_ms: Annotated[Milliseconds, Field(gt=0)]
    bad_ms: Annotated[Milliseconds, Field(gt=0)]
    good: Chance = 0.0
    bad: Chance = 1.0

    def wire(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "good_ns": ms_to_ns(self.good_ms),
            "bad_ns": ms_to_ns(self.bad_ms),
            "good": self.good,
            "bad": self.bad,
        }


def _loss(value: Any) -> Any:
    """Reads a number as the chance of a Bernoulli loss."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"kind": "bernoulli", "p": float(value)}
    if isinstance(value, str):
        raise Fault(
            "this is not a loss",
            expected="a chance such as 0.1 or `{kind: gilbert_elliott, …}`",
            actual=value,
        )
    return value


Loss = Annotated[
    Bernoulli | GilbertElliott | GilbertElliottTime,
    Field(discriminator="kind"),
    BeforeValidator(_loss),
]


def trace_at_nic(at: At) -> Fault:
    """The Fault for a trace of a link whose rate is at the host's own device."""
    return Fault(
        "a trace changes the rate of the path",
        expected="`bottleneck: path` with a `trace`",
        actual="nic",
        at=at,
    )


class Police(Strict):
    """A limit for each flow (protocol, addresses and ports of both ends): frames above it are
    dropped at once, as a wireless controller's protection against floods does. It is a token bucket
    of `burst_kb` or `burst_packets`, full at first. It applies to flows of `protocol`, by default
    to all IP."""

    rate_mbps: RateMbps | None = None
    burst_kb: float | None = Field(default=None, gt=0, le=1e6)
    packets_per_s: int | None = Field(default=None, ge=1, le=1_000_000_000)
    burst_packets: int | None = Field(default=None, ge=1, le=1_000_000_000)
    protocol: Literal["udp", "tcp"] | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> "Police":
        burst_of = {"rate_mbps": "burst_kb", "packets_per_s": "burst_packets"}
        limits = [name for name in burst_of if getattr(self, name) is not None]
        if len(limits) != 1:
            raise Fault(
                "the policer needs one limit",
                expected="`rate_mbps` with `burst_kb`, or `packets_per_s` with `burst_packets`",
                actual="both" if limits else "neither",
                at=(limits[1],) if limits else (),
            )
        limit = limits[0]
        burst = burst_of.pop(limit)
        (other_burst,) = burst_of.values()
        if getattr(self, other_burst) is not None:
            raise Fault(
                f"`{other_burst}` does not belong to `{limit}`",
                expected=f"`{burst}` beside it",
                actual=other_burst,
                at=(other_burst,),
            )
        if getattr(self, burst) is None:
            raise Fault(
                f"`{limit}` alone is not a policer, which also limits bursts",
                expected=f"`{burst}` beside it",
                at=(limit,),
            )
        if self.burst_kb is not None and self.burst_bytes < LARGEST_USUAL_FRAME_BYTES:
            raise Fault(
                "a burst smaller than a frame lets no frame through",
                expected=f"`burst_kb` of at least {LARGEST_USUAL_FRAME_BYTES / 1000:g}",
                actual=f"{self.burst_kb:g}",
                fix="for a link that carries nothing write `change: blackhole`",
                at=("burst_kb",),
            )
        return self

    @property
    def burst_bytes(self) -> int:
        return round((self.burst_kb or 0) * 1000)

    def wire(self) -> dict[str, Any]:
        protocol = {} if self.protocol is None else {"protocol": self.protocol}
        if self.rate_mbps is not None:
            return {
                "rate_bps": round(self.rate_mbps * 1e6),
                "burst_bytes": self.burst_bytes,
            } | protocol
        return {"packets_per_s": self.packets_per_s, "burst_packets": self.burst_packets} | protocol

    @property
    def words(self) -> str:
        """For example `UDP above 500 packets/s and 50 packets at once dropped, flow by flow`."""
        limit = (
            f"{self.rate_mbps:g} Mbit/s"
            if self.rate_mbps is not None
            else f"{self.packets_per_s} packets/s"
        )
        at_once = (
            f"{self.burst_kb:g} kB"
            if self.burst_kb is not None
            else f"{self.burst_packets} packets"
        )
        packets = self.protocol.upper() if self.protocol is not None else "IP"
        return f"{packets} above {limit} and {at_once} at once dropped, flow by flow"


QUEUES = ("queue_kb", "queue_frames", "queue_ms")


class Spec(Strict):
    """One direction of a host's link.

    `bottleneck` is the place of the rate: `path`, in the network, which drops frames that do not
    fit; or `nic`, at the host's own device, where a sender blocks while its socket's buffer is
    smaller than the queue. `jitter_ms` is the standard deviation of a process that keeps the order
    of frames and has the correlation time `jitter_correlation_ms`; with a time of 0 each frame has
    a draw of its own, and frames overtake. At most one of the queue's limits is given.
    """

    rate_mbps: RateMbps | None = None
    bottleneck: Literal["path", "nic"] | None = None
    queue_kb: float | None = Field(default=None, gt=0, le=1e6)
    queue_frames: int | None = Field(default=None, ge=1, le=1_000_000)
    queue_ms: Milliseconds | None = None
    delay_ms: Milliseconds | None = None
    jitter_ms: Milliseconds | None = None
    jitter_correlation_ms: Milliseconds | None = None
    loss: Loss | None = None
    reorder: Chance | None = None
    reorder_by_ms: Milliseconds | None = None
    duplicate: Chance | None = None
    corrupt: Chance | None = None
    mtu_bytes: MtuBytes | None = None
    police: Police | None = None
    medium: str | None = None
    trace: TraceFile | None = None
    exempt_arp: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> "Spec":
        limits = [name for name in QUEUES if getattr(self, name) is not None]
        if len(limits) > 1:
            raise Fault(
                "a queue has one limit",
                expected="one of " + ", ".join(QUEUES),
                actual=", ".join(limits),
                at=(limits[1],),
            )
        rate = "`rate_mbps`, a `medium` or a `trace` of rates: without one no frame waits"
        for name, needs, is_met in (
            *((limit, rate, self.limited) for limit in limits),
            ("bottleneck", "`rate_mbps`, whose place it is", self.rate_mbps is not None),
            ("jitter_correlation_ms", "`jitter_ms`", self.jitter_ms is not None),
            ("reorder_by_ms", "`reorder`, the chance of it", self.reorder is not None),
            ("reorder", "`reorder_by_ms` beside it", self.reorder_by_ms is not None),
        ):
            if getattr(self, name) is not None and not is_met:
                raise Fault(f"`{name}` alone does nothing", expected=needs, at=(name,))
        if self.medium is not None:
            for name in ("rate_mbps", "trace"):
                if getattr(self, name) is not None:
                    raise Fault(
                        f"a link on a medium has no `{name}` of its own",
                        expected="the medium's `rate_mbps`",
                        actual=f"medium {self.medium} and {name}",
                        fix=f"remove `{name}`, or `medium`",
                        at=(name,),
                    )
        if self.bottleneck == "nic" and self.trace is not None:
            raise trace_at_nic(("bottleneck",))
        return self

    @property
    def rate_bps(self) -> int | None:
        return None if self.rate_mbps is None else round(self.rate_mbps * 1e6)

    @property
    def largest_rate_bps(self) -> int:
        """The larger of its own rate and its trace's; 0 without a rate."""
        return max(self.rate_bps or 0, self.trace.largest_rate_bps if self.trace else 0)

    @property
    def at_nic(self) -> bool:
        return self.bottleneck == "nic"

    @property
    def nic_queue_unit(self) -> Literal["frames", "bytes"]:
        """The unit of the queue's limit at the device."""
        return "frames" if self.queue_kb is None and self.queue_ms is None else "bytes"

    @property
    def limited(self) -> bool:
        """Whether the spec, its medium or its trace limits the rate."""
        traced = self.trace is not None and self.trace.changes_rate
        return self.rate_mbps is not None or self.medium is not None or traced

    def nic(self) -> dict[str, int] | None:
        """The rate and the queue's limit at the host's own device, or None for a rate in the
        path."""
        if not self.at_nic or self.rate_bps is None:
            return None
        return {"rate_bps": self.rate_bps} | self._queue()

    def wire(self) -> dict[str, Any]:
        """The spec in the link protocol, without the rate of a host's own device."""
        settings: dict[str, Any] = {}
        if self.rate_bps is not None and not self.at_nic:
            settings["rate_bps"] = self.rate_bps
        if not self.at_nic:
            settings |= self._queue()
        if self.delay_ms:
            settings["delay_ns"] = ms_to_ns(self.delay_ms)
        if self.jitter_ms:
            own_ms = self.jitter_correlation_ms
            correlation_ns = ms_to_ns(DEFAULT_CORRELATION_MS if own_ms is None else own_ms)
            shape = (
                {"kind": "correlated", "correlation_ns": correlation_ns}
                if correlation_ns
                else {"kind": "independent"}
            )
            settings["jitter"] = shape | {"sd_ns": ms_to_ns(self.jitter_ms)}
        if self.loss is not None:
            settings["loss"] = self.loss.wire()
        if self.reorder:
            settings["reorder"] = {"p": self.reorder, "by_ns": ms_to_ns(self.reorder_by_ms or 0)}
        for name in ("duplicate", "corrupt", "mtu_bytes", "medium"):
            if getattr(self, name):
                settings[name] = getattr(self, name)
        if self.police is not None:
            settings["police"] = self.police.wire()
        if self.trace is not None:
            settings["trace"] = self.trace.wire()
        if not self.exempt_arp:
            settings["exempt_arp"] = False
        return settings

    def _queue(self) -> dict[str, int]:
        """The limit of the queue; empty without a limit."""
        if self.queue_kb is not None:
            return {"queue_bytes": round(self.queue_kb * 1000)}
        if self.queue_frames is not None:
            return {"queue_frames": self.queue_frames}
        return {} if self.queue_ms is None else {"queue_ns": ms_to_ns(self.queue_ms)}


NOTHING = Spec()
