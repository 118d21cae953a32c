"""The rules that void or mark a trial for the machine's sake: data in one place, fixed in advance.

Shares of processor time are of the processors that a trial may use: what others of the machine do
or leave idle says nothing of it.

They look at machine signals only, never at a result: a rule that sees results can be made to say
anything. A trial is *void* where even its median would be the machine's and not the middleware's;
it keeps a *flag* where a part of it stays usable (medians without tails, latency without scaling).
Below the limits, blocks and their randomised order carry the noise.

The limits, with what was measured on a virtual machine of two processors (docs/doctor.md has the
table):

* steal, as a share of the processor time that was asked for: small virtual machines always have
  some. With 15 % of all time (the measure then) a wake-up's p99 went from 0.1 to 4.9 ms. It is
  counted in ticks of 10 ms, and what asks for little asks for a few of them: one stolen tick of
  three is not evidence. An arm of short wake-ups also waits for the hypervisor at each of them: of
  20 µs of work, 1 500 times a second, 12 % were stolen while a spinner lost 0.6 %. So steal voids
  only where it is also more than 5 % of the window, and three ticks. One or two took 8 % of the
  trials of `quick` away, whose shortest window has 50 of them.
* canary: a thread on each processor that only sleeps; the shares are the worst processor's. Late is
  a wake-up after more than 1 ms: at 1 % of them the p99 of *anything* that sleeps on this machine
  exceeds 1 ms. Builds beside it, with a load average of 6 to 9 on two processors, made 11 % of the
  wake-ups late in the median trial and 75 % in the worst of 51, but stalled (more than 10 ms) only
  0 and 44 %. A processor taken away by a real-time thread: more than half stalled. So half of the
  wake-ups stalled is a processor that somebody keeps. An arm with very many busy threads could do
  that too, and what an arm does must not void its trial: where the trial's own processes used more
  than half of the processors that it may use, the lateness is a flag and nothing more.
* foreign: builds and desktops disturb tails; as long as the canary wakes, blocks carry it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rmwbench.codes import Code, Reason

Kind = Literal["void", "flag"]


@dataclass(frozen=True)
class Rule:
    """Fires where a probe of the window exceeds `limit` (or is below it). `text` shows {value} and
    {limit}, in percent where the probe is a fraction and in ms where it is ns. `excused_by` is a
    probe with a limit: above it this rule is silent, and a milder one of the same name may speak.
    `only_with` are others: unless each is there and above its limit, this rule is silent too."""

    name: str
    probe: str
    limit: float
    kind: Kind
    text: str
    below: bool = False
    unit: Literal["fraction", "ns"] = "fraction"
    excused_by: tuple[str, float] | None = None
    only_with: tuple[tuple[str, float], ...] = ()

    def broken_by(self, value: float) -> bool:
        return value < self.limit if self.below else value > self.limit

    def explained(self, value: float) -> str:
        return self.text.format(value=self._value_text(value), limit=self._value_text(self.limit))

    def _value_text(self, value: float) -> str:
        if self.unit == "ns":
            return f"{value / 1e6:.1f} ms"
        return f"{value:.3g}" if value > 10 else f"{100 * value:.1f} %"


@dataclass(frozen=True)
class Violation:
    """A rule that fired: its name, `void` or `flag`, and the reason in words."""

    rule: str
    kind: Kind
    text: str


STEAL_VOID_FRACTION = 0.05
STOLEN_VOID_FRACTION = 0.05
"""The share of the window: how long the processors were away, summed over them."""
STOLEN_VOID_TICKS = 2

RULES: tuple[Rule, ...] = (
    Rule(
        "steal",
        "steal",
        STEAL_VOID_FRACTION,
        "void",
        "the hypervisor took {value} of the processor time that was asked for during the window "
        "(limit {limit})",
        only_with=(("stolen", STOLEN_VOID_FRACTION), ("stolen_ticks", STOLEN_VOID_TICKS)),
    ),
    Rule(
        "canary",
        "canary_stalled",
        0.5,
        "void",
        "on one processor {value} of a sleeping thread's wake-ups came more than 10 ms late (limit "
        "{limit}): somebody else kept it",
        excused_by=("own", 0.5),
    ),
    Rule(
        "throttled",
        "throttled",
        0.01,
        "void",
        "the CPU quota of this container stopped everything for {value} of the window (limit "
        "{limit})",
    ),
    Rule(
        "clock",
        "clock_slew",
        0.001,
        "void",
        "the clock was slewed or stepped by {value} against the hardware's during the window "
        "(limit {limit})",
    ),
    Rule(
        "start_late",
        "start_late",
        0,
        "void",
        "the start reached a worker {value} after its time",
        unit="ns",
    ),
    Rule(
        "background",
        "background_achieved",
        0.8,
        "void",
        "the background load put on {value} of what was asked (limit {limit})",
        below=True,
    ),
    Rule(
        "host_idle",
        "host_awake",
        1.0,
        "void",
        "the processors could not be kept awake, as `host_idle: awake` asks",
        below=True,
    ),
    Rule(
        "steal",
        "steal",
        0.01,
        "flag",
        "the hypervisor took {value} of the processor time that was asked for: tails are this "
        "machine's",
    ),
    Rule(
        "canary",
        "canary_late",
        0.01,
        "flag",
        "on one processor {value} of a sleeping thread's wake-ups came more than 1 ms late: the "
        "tail is this machine's",
    ),
    Rule(
        "foreign",
        "foreign",
        0.1,
        "flag",
        "other programs used {value} of the processor time",
    ),
    Rule(
        "machine_bound",
        "idle",
        0.1,
        "flag",
        "only {value} of the processor time was idle: nothing here says how this scales, or what a "
        "network does",
        below=True,
    ),
)
"""Void before flag: of several rules with one name the first that fires speaks."""


def violations(probes: Iterable[Mapping[str, object]]) -> list[Violation]:
    """Every rule that fires on rows of the table `probes`, at most one per name. A probe that is
    not there says nothing: it fires no rule and excuses none."""
    values = {str(row["probe"]): float(row["value"]) for row in probes if row["at"] == "window"}  # type: ignore[arg-type]
    fired: dict[str, Violation] = {}
    for rule in RULES:
        if rule.name in fired or rule.probe not in values or not rule.broken_by(values[rule.probe]):
            continue
        if rule.excused_by and values.get(rule.excused_by[0], 0.0) > rule.excused_by[1]:
            continue
        if any(values.get(probe, 0.0) <= limit for probe, limit in rule.only_with):
            continue
        fired[rule.name] = Violation(rule.name, rule.kind, rule.explained(values[rule.probe]))
    return list(fired.values())


def voids(probes: Iterable[Mapping[str, object]]) -> list[Reason]:
    """The reasons why a trial with these rows of the table `probes` is void, one per rule that
    fires; empty for a good trial."""
    return _reasons(probes, "void", "machine: ")


def flags(probes: Iterable[Mapping[str, object]]) -> list[Reason]:
    """The reasons that a report shows beside the trial: one per rule that fires without voiding
    it."""
    return _reasons(probes, "flag")


def _reasons(probes: Iterable[Mapping[str, object]], kind: Kind, prefix: str = "") -> list[Reason]:
    return [
        Reason(Code(violation.rule), f"{prefix}{violation.rule}: {violation.text}", machine=True)
        for violation in violations(probes)
        if violation.kind == kind
    ]
