"""The rules by which the machine voids or flags a trial: data in one place, fixed in advance.

The shares of processor time refer to the processors that a trial may use: the other processors of
the machine do not matter to the trial.

The rules judge signals of the machine only, never a result: a rule that sees results could produce
any result. A trial is *void* where even its median would be the machine's and not the middleware's;
it has a *flag* where a part of it stays usable (medians without tails, latency without scaling).
Below the limits, blocks and their randomised order absorb the noise.

The limits, with measurements on a virtual machine of two processors (docs/doctor.md has the table):

* steal, as a share of the demanded processor time: small virtual machines always have some. With
  15 % of all time (the measure then), the p99 of a wake-up rose from 0.1 to 4.9 ms. Steal is
  counted in ticks of 10 ms, and a small load demands only a few of them: one stolen tick of three
  is not evidence. An arm of short wake-ups also waits for the hypervisor at each of them: of 20 µs
  of work, 1 500 times a second, 12 % were stolen while a spinner lost 0.6 %. So steal voids only
  where it is also more than 5 % of the window, and at least three ticks. A limit of one or two
  ticks would have voided 8 % of the trials of `quick`, whose shortest window has 50 ticks.
* canary: a thread on each processor that only sleeps; the shares are those of the worst processor.
  A wake-up is late after more than 1 ms: at a share of 1 %, the p99 of *any* thread that sleeps on
  this machine exceeds 1 ms. Builds beside it, with a load average of 6 to 9 on two processors, made
  11 % of the wake-ups late in the median trial and 75 % in the worst of 51; but only 0 and 44 %
  stalled (more than 10 ms). With a processor taken by a real-time thread, more than half stalled.
  So a share of half shows that another program keeps the processor. An arm with very many busy
  threads could cause that too, and an arm must not void its own trial: where the trial's processes
  used more than half of the usable processor time, the lateness is a flag and nothing more.
* foreign: builds and desktops disturb tails; blocks absorb that as long as the canary wakes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rmwbench.codes import Code, Reason

Kind = Literal["void", "flag"]


@dataclass(frozen=True)
class Rule:
    """A rule, which fires where a probe of the window exceeds `limit`, or is below it. `text` shows
    {value} and {limit}, in percent where the probe is a fraction and in ms where it is in ns.
    `excused_by` is a probe with a limit above which this rule does not fire, so that a milder rule
    of the same name may. `only_with` are probes with limits: the rule fires only where each of them
    exists and exceeds its limit."""

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

    def explanation(self, value: float) -> str:
        return self.text.format(value=self._value_text(value), limit=self._value_text(self.limit))

    def _value_text(self, value: float) -> str:
        if self.unit == "ns":
            return f"{value / 1e6:.1f} ms"
        return f"{value:.3g}" if value > 10 else f"{100 * value:.1f} %"


@dataclass(frozen=True)
class Violation:
    """A rule that fired: its name, its kind, and the reason in words."""

    rule: str
    kind: Kind
    text: str


STEAL_VOID_FRACTION = 0.05
STOLEN_VOID_FRACTION = 0.05
"""The time for which the processors were away, summed over them, as a share of the window."""
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
        "{limit}): another program kept it",
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
"""Void comes before flag: of the rules of one name, the first that fires counts."""


def violations(probes: Iterable[Mapping[str, object]]) -> list[Violation]:
    """The rules that fire on rows of `probes`, at most one per name; absent probes never do."""
    values = {str(row["probe"]): float(row["value"]) for row in probes if row["at"] == "window"}  # type: ignore[arg-type]
    violation_of: dict[str, Violation] = {}
    for rule in RULES:
        value = values.get(rule.probe)
        if rule.name in violation_of or value is None or not rule.broken_by(value):
            continue
        if rule.excused_by and values.get(rule.excused_by[0], 0.0) > rule.excused_by[1]:
            continue
        if any(values.get(probe, 0.0) <= limit for probe, limit in rule.only_with):
            continue
        violation_of[rule.name] = Violation(rule.name, rule.kind, rule.explanation(value))
    return list(violation_of.values())


def voids(probes: Iterable[Mapping[str, object]]) -> list[Reason]:
    """The reasons why a trial with these `probes` is void; empty for a good trial."""
    return _reasons(probes, "void", "machine: ")


def flags(probes: Iterable[Mapping[str, object]]) -> list[Reason]:
    """The reasons that a report shows beside the trial: one for each rule that flags it."""
    return _reasons(probes, "flag")


def _reasons(probes: Iterable[Mapping[str, object]], kind: Kind, prefix: str = "") -> list[Reason]:
    return [
        Reason(Code(violation.rule), f"{prefix}{violation.rule}: {violation.text}", machine=True)
        for violation in violations(probes)
        if violation.kind == kind
    ]
