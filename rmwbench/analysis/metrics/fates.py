"""The fates of the messages of an arm that did not arrive: lost, late or never sent.

*Lost*: sent, and never arrived sound. *Late*: sent, and still under way when the trial stopped
waiting. *Never sent*: due, and not sent, with the cause. Messages of a failed trial have no fate,
since nobody knows which were sent; failed trials are counted separately.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rmwbench.analysis.metrics.glossary import Fate
from rmwbench.analysis.records.ledger import Ledger, UnsentBy
from rmwbench.words.numbers import counted, percent

HELD: Mapping[UnsentBy, str] = {
    UnsentBy.CALL: "its publish call was held",
    UnsentBy.SIBLING: "the publish call of another publisher of its thread was held",
    UnsentBy.MACHINE: "no publish call held it: the machine did not come to it",
    UnsentBy.REFUSED: "its publish call returned errors",
}
"""The causes of messages that were not sent, in words."""


@dataclass(frozen=True)
class FateCounts:
    """Counts of messages, once per reader; for a chain once per path. `unsent_by`: cause ->
    messages never sent. `overdue`: late messages of best-effort streams, which are undelivered;
    whether other late messages would have arrived is not known."""

    wanted: int = 0
    lost: int = 0
    late: int = 0
    never_sent: int = 0
    unsent_by: Mapping[UnsentBy, int] = field(default_factory=dict)
    overdue: int = 0

    def __add__(self, other: "FateCounts") -> "FateCounts":
        return FateCounts(
            self.wanted + other.wanted,
            self.lost + other.lost,
            self.late + other.late,
            self.never_sent + other.never_sent,
            Counter(self.unsent_by) + Counter(other.unsent_by),
            self.overdue + other.overdue,
        )

    @classmethod
    def of(cls, ledger: Ledger) -> "FateCounts":
        return cls(
            ledger.wanted,
            ledger.lost,
            ledger.late,
            ledger.never_sent,
            ledger.unsent_by,
            ledger.after_drain,
        )

    @property
    def sent(self) -> int:
        return self.wanted - self.never_sent

    def fates(self, *, failed: int = 0, trials: int = 0) -> "Fates":
        """The counts as fractions. `failed` of the `trials` failed, and are not in the counts."""
        return Fates(
            lost=self.lost / self.sent if self.sent else 0.0,
            late=self.late / self.sent if self.sent else 0.0,
            never_sent=self.never_sent / self.wanted if self.wanted else 0.0,
            overdue=self.overdue / self.sent if self.sent else 0.0,
            held_by=main_cause(self.unsent_by),
            failed=failed,
            trials=trials,
        )


def main_cause(unsent_by: Mapping[UnsentBy, int]) -> UnsentBy | None:
    """The cause of most messages that were not sent; None without any."""
    return max(unsent_by, key=lambda by: unsent_by[by]) if unsent_by else None


@dataclass(frozen=True, kw_only=True)
class Fates:
    """Fractions: `lost` and `late` of the messages sent, `never_sent` of the messages due, as in
    tables; `overdue`, of the messages sent, is the part of `late` that is undelivered. `held_by`:
    the cause of most messages never sent; None where it is not known, or all were sent. `failed` of
    the `trials` ended by the arm's own fault, and are in no fraction."""

    lost: float = 0.0
    late: float = 0.0
    never_sent: float = 0.0
    overdue: float = 0.0
    held_by: UnsentBy | None = None
    failed: int = 0
    trials: int = 0

    @property
    def undelivered(self) -> float:
        """The share of the messages due that verdicts judge first: all messages of a failed trial
        are in it, late messages of a reliable stream are not."""
        return sum(self.shares.values())

    @property
    def shares(self) -> dict[Fate, float]:
        """`undelivered` split by fate; fates with a share of 0 are left out."""
        done = 1 - (self.failed / self.trials if self.trials else 0.0)
        shares = {
            Fate.LOST: self.lost * (1 - self.never_sent) * done,
            Fate.LATE: self.overdue * (1 - self.never_sent) * done,
            Fate.NEVER_SENT: self.never_sent * done,
            Fate.FAILED: 1 - done,
        }
        return {fate: share for fate, share in shares.items() if share > 0}

    @property
    def main(self) -> Fate | None:
        """The fate of most undelivered messages; late where all others arrived; None where all
        arrived."""
        shares = self.shares
        if not shares:
            return Fate.LATE if self.late > 0 else None
        return max(shares, key=lambda fate: shares[fate])

    @property
    def loses_only(self) -> bool:
        """Whether all messages that did not arrive were lost."""
        return self.lost > 0 and not (self.never_sent or self.late or self.failed)

    def verbs(self, of: str = "its messages") -> str:
        """`loses 10 % of what it sends, and never sends 28 % of its messages (its publish call was
        held)`; empty where all arrived. `of`: the words for the messages."""
        parts, sent = [], f"of {of}"
        if self.never_sent:
            sent = "of what it sends" if of == "its messages" else f"of what it sends {sent}"
        if self.lost > 0:
            parts.append(f"loses {percent(self.lost)} {sent}")
        if self.never_sent > 0:
            why = f" ({HELD[self.held_by]})" if self.held_by else ""
            parts.append(f"never sends {percent(self.never_sent)} of {of}{why}")
        if self.late > 0:
            parts.append(f"has {percent(self.late)} {sent} still under way when the trials end")
        if self.failed:
            parts.append(f"fails in {self.failed} of {counted(self.trials, 'trial')}")
        return _listed(parts)

    def short(self) -> str:
        """`lost 10 %, never sent 28 %`, for a place in a table; empty where all arrived."""
        shares = (("lost", self.lost), ("never sent", self.never_sent), ("late", self.late))
        parts = [f"{name} {percent(share)}" for name, share in shares if share > 0]
        if self.failed:
            parts.append(f"{self.failed} of {counted(self.trials, 'trial')} failed")
        return ", ".join(parts)


def _listed(parts: list[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
