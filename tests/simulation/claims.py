"""False claims of whole reports, and the power of true ones: campaigns with known truth through
`compare.judge`."""

import math
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rmwbench.analysis.stats.resolution import (
    Threshold,
    blocks_for,
    comparisons,
    resolvable_ratio,
    sd_upper,
)
from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.best import judge
from rmwbench.analysis.verdicts.verdict import BlockRatio, JudgedArm, Rules, Verdict

WANTED = 1000
"""Messages of a trial, for losses."""


@dataclass(frozen=True)
class Report:
    """`ratios`: the arms' true slowness. `sd`: of a block log-ratio. `noise`: of its shape. `lost`:
    mean number of messages lost per trial, the same for all arms, in bursts. `tick`: what values
    are rounded to.
    """

    name: str
    ratios: Sequence[float]
    workloads: int = 1
    blocks: int = 5
    sd: float = 0.2
    noise: str = "normal"
    lost: float = 0.0
    tick: float = 0.0
    rules: Rules = field(default_factory=Rules)

    def arms(self, rng: np.random.Generator) -> dict[str, list[JudgedArm]]:
        shape = (self.workloads, len(self.ratios), self.blocks)
        mood = 0.5 * rng.standard_normal((self.workloads, 1, self.blocks))
        logs = np.log(np.array(self.ratios))[:, None] + self.sd / math.sqrt(2) * draw(
            rng, self.noise, shape
        )
        values = np.exp(logs + (0 if self.tick else mood))
        if self.tick:
            values = np.maximum(np.round(values / self.tick), 1) * self.tick
        lost = np.zeros(shape, int)
        if self.lost:
            lost = np.minimum(rng.negative_binomial(0.5, 0.5 / (0.5 + self.lost), shape), WANTED)
        return {
            f"w{w}": [
                JudgedArm(
                    f"arm{i}",
                    dict(enumerate(values[w, i].tolist())),
                    {b: (n, WANTED) for b, n in enumerate(lost[w, i].tolist())},
                )
                for i in range(len(self.ratios))
            ]
            for w in range(self.workloads)
        }

    def false(self, verdicts: dict[str, dict[str, Verdict]]) -> bool:
        """Whether any claim is wrong: a fastest arm (within the A/A noise) called worse, one that
        is slower by more than the margin called equivalent, one that is not among the fastest
        called best.
        """
        best = min(self.ratios)
        for arms in verdicts.values():
            for i, ratio in enumerate(self.ratios):
                verdict, slower = arms[f"arm{i}"].verdict, ratio / best
                if verdict == "worse" and slower <= 1 + self.rules.aa_floor + 1e-12:
                    return True
                if verdict == "equivalent" and slower > 1 + self.rules.margin + 1e-12:
                    return True
                if verdict == "best" and slower > 1 + self.rules.aa_floor + 1e-12:
                    return True
        return False


def draw(rng: np.random.Generator, noise: str, shape: tuple[int, ...]) -> np.ndarray:
    if noise == "t2":
        return rng.standard_t(2, shape)
    if noise == "exponential":
        return rng.standard_exponential(shape)
    if noise == "outliers":
        return rng.standard_normal(shape) * np.where(rng.random(shape) < 0.1, 10, 1)
    return rng.standard_normal(shape)


EQUAL = (
    (2000, Report("2 arms", [1] * 2)),
    (2000, Report("3 arms", [1] * 3)),
    (1000, Report("2 arms, heavy tails (t2)", [1] * 2, noise="t2")),
    (1000, Report("3 arms, one in ten ten times as wide", [1] * 3, noise="outliers")),
    (1000, Report("3 arms, skewed (exponential)", [1] * 3, noise="exponential")),
    (500, Report("5 arms, in ticks of a tenth", [1] * 5, tick=0.1)),
    (500, Report("5 arms, in ticks of a twentieth, sd 0.1", [1] * 5, tick=0.05, sd=0.1)),
    (500, Report("7 arms", [1] * 7)),
    (500, Report("12 arms, sd 0.6", [1] * 12, sd=0.6)),
    (500, Report("2 arms, 8 workloads", [1] * 2, 8)),
    (100, Report("12 arms, 8 workloads", [1] * 12, 8)),
    (1000, Report("2 arms, 1 of 1000 lost, in bursts", [1] * 2, lost=1)),
    (500, Report("5 arms, 10 of 1000 lost, in bursts", [1] * 5, lost=10)),
    (
        200,
        Report("7 arms, 3 workloads, 5 of 1000 lost, heavy tails", [1] * 7, 3, lost=5, noise="t2"),
    ),
)
"""(campaigns, report): arms that tie, at the fewest blocks."""

DIFFERENT = (
    (2000, Report("2 arms, one slower by just the margin", [1, 1.0501], sd=0.02)),
    (2000, Report("3 arms, one slower by just the margin", [1, 1, 1.0501], sd=0.06)),
    (500, Report("2 arms, 4 workloads, one by the margin", [1, 1.0501], 4, sd=0.04)),
    (300, Report("3 workloads of 3, two tie, one by the margin", [1, 1, 1.0501], 3, sd=0.1)),
    (200, Report("12 arms, 6 tie, 6 by the margin", [1] * 6 + [1.0501] * 6, sd=0.08)),
    (200, Report("3 workloads of 7, clear order but two tie", [1, 1, 2, 3, 4, 5, 6], 3)),
    (
        2000,
        Report(
            "2 arms that differ by the A/A noise, sd 0.02",
            [1, 1.08],
            sd=0.02,
            rules=Rules(aa_floor=0.08),
        ),
    ),
    (
        1000,
        Report(
            "2 arms that differ by the A/A noise, sd 0.2",
            [1, 1.08],
            sd=0.2,
            rules=Rules(aa_floor=0.08),
        ),
    ),
)
"""(campaigns, report): truths at the edge of what may be claimed."""


@dataclass(frozen=True)
class Rate:
    name: str
    rate: float
    campaigns: int

    def __str__(self) -> str:
        return f"{self.name:60} {self.rate:6.1%} of {self.campaigns}"


Enough = Callable[[int, int], bool]
"""(how often it happened, campaigns so far) -> whether a test needs no more of them."""


def all_of_them(_happened: int, _campaigns: int) -> bool:
    return False


def rate(name: str, campaigns: int, once: Callable[[], bool], enough: Enough) -> Rate:
    happened = n = 0
    while n < max(campaigns, 1) and not enough(happened, n):
        happened, n = happened + bool(once()), n + 1
    return Rate(name, happened / n, n)


def errs(report: Report, rng: np.random.Generator) -> bool:
    return report.false(judge(report.arms(rng), report.rules))


def errs_at_looks(
    report: Report, rng: np.random.Generator, looks: Sequence[int], *, ended: bool = False
) -> bool:
    return report.false(sequential.judge(report.arms(rng), report.rules, looks, ended=ended))


def false_claims(
    reports: Sequence[tuple[int, Report]], scale: float = 1.0, enough: Enough = all_of_them
) -> Iterator[Rate]:
    for seed, (campaigns, report) in enumerate(reports):
        wrong = partial(errs, report, np.random.default_rng(1000 + seed))
        yield rate(report.name, int(campaigns * scale), wrong, enough)


def power(
    report: Report, campaigns: int, seed: int, enough: Enough = all_of_them, name: str = ""
) -> Rate:
    """How often the last arm, the slow one, is called worse in the first workload."""
    rng = np.random.default_rng(seed)
    arm = f"arm{len(report.ratios) - 1}"

    def once() -> bool:
        return judge(report.arms(rng), report.rules)["w0"][arm].verdict == "worse"

    return rate(name, campaigns, once, enough)


def power_of_promised_ratios(scale: float = 1.0, enough: Enough = all_of_them) -> Iterator[Rate]:
    """One arm slower by what `resolvable_ratio` promises, all others equal, or slow as well and
    only one fast: then the pair that convicts it is alone.
    """
    for seed, (n, arms, fast, workloads, blocks, sd) in enumerate(
        [
            (2000, 2, 1, 1, 5, 0.1),
            (2000, 2, 1, 1, 5, 0.6),
            (2000, 3, 2, 1, 6, 0.02),
            (200, 7, 6, 3, 6, 0.1),
            (500, 7, 1, 1, 6, 0.1),
            (200, 7, 1, 3, 12, 0.3),
        ]
    ):
        ratio = resolvable_ratio(blocks, comparisons(arms, arms * workloads), sd)
        report = Report("", [1] * fast + [ratio] * (arms - fast), workloads, blocks, sd)
        name = (
            f"{fast} fast, {arms - fast} slow, {workloads} workloads, {blocks} blocks, sd "
            f"{sd}: {ratio:.3g}×"
        )
        yield power(report, int(n * scale), 2000 + seed, enough, name)


def power_of_proposed_blocks(scale: float = 1.0, enough: Enough = all_of_them) -> Iterator[Rate]:
    """With the blocks that `blocks_for` proposes, sd known."""
    for seed, (n, arms, workloads, ratio, sd) in enumerate(
        [
            (1000, 2, 1, 1.2, 0.1),
            (1000, 2, 1, 1.06, 0.02),
            (200, 5, 1, 1.5, 0.4),
            (200, 7, 3, 1.3, 0.2),
        ]
    ):
        blocks = blocks_for(ratio, sd, comparisons(arms, arms * workloads), least=5)
        report = Report("", [1] * (arms - 1) + [ratio], workloads, blocks, sd)
        name = f"{arms} arms, {workloads} workloads, {ratio}× at sd {sd}: {blocks} blocks"
        yield power(report, int(n * scale), 2100 + seed, enough, name)


def power_after_pilots(scale: float = 1.0, enough: Enough = all_of_them) -> Iterator[Rate]:
    """Blocks proposed from an sd that a pilot of five blocks estimated; averaged over pilots."""
    for seed, (n, ratio, sd) in enumerate([(500, 1.2, 0.1), (500, 1.5, 0.3)]):
        rng = np.random.default_rng(2200 + seed)

        def once(ratio: float = ratio, sd: float = sd, rng: np.random.Generator = rng) -> bool:
            estimate = float(np.std(sd * rng.standard_normal(5), ddof=1))
            blocks = blocks_for(ratio, sd_upper(estimate, 4), comparisons(2, 2), least=5)
            report = Report("", [1, ratio], 1, blocks, sd)
            return judge(report.arms(rng))["w0"]["arm1"].verdict == "worse"

        name = f"2 arms, {ratio}× at sd {sd}, sd from a pilot of 5 blocks"
        yield rate(name, int(n * scale), once, enough)


SCHEDULES = (
    (sequential.planned_looks(5, 10), "normal"),
    (sequential.planned_looks(5, 20), "normal"),
    (sequential.planned_looks(5, 20), "t2"),
    ((5, 10, 15, 20, 30), "normal"),
    ((6, 7, 8, 9, 10), "normal"),
)


OFTENEST = SCHEDULES[3]
"""That with most to gain from looking."""


def false_claims_of_looks(scale: float = 1.0, enough: Enough = all_of_them) -> Iterator[Rate]:
    """Equal arms looked at until something is claimed or the blocks end."""
    for seed, (looks, noise) in enumerate(SCHEDULES):
        report = Report("", [1] * 3, 1, looks[-1], noise=noise)
        wrong = partial(errs_at_looks, report, np.random.default_rng(3000 + seed), looks)
        yield rate(f"3 equal arms, {noise}, looks {looks}", int(500 * scale), wrong, enough)


def false_claims_of_naive_looks(
    scale: float = 1.0, schedules: Sequence[tuple[Sequence[int], str]] = SCHEDULES
) -> Iterator[Rate]:
    """The same with all of alpha at each look."""
    for looks, noise in schedules:
        report = Report("", [1] * 3, 1, looks[-1], noise=noise)
        rng = np.random.default_rng(3000 + SCHEDULES.index((looks, noise)))

        def wrong(
            report: Report = report, looks: Sequence[int] = looks, rng: np.random.Generator = rng
        ) -> bool:
            arms = report.arms(rng)
            return any(report.false(judge(cut(arms, n), report.rules)) for n in looks)

        name = f"3 equal arms, all of alpha at each look, looks {looks}"
        yield rate(name, int(200 * scale), wrong, all_of_them)


def false_claims_of_budgets(scale: float = 1.0, enough: Enough = all_of_them) -> Iterator[Rate]:
    """Equal arms; the time ends the campaign between two looks, where the rest of alpha is
    spent."""
    looks = sequential.planned_looks(5, 20)
    for seed, blocks in enumerate((7, 12, 16)):
        report = Report("", [1] * 3, 1, blocks)
        rng = np.random.default_rng(3500 + seed)
        wrong = partial(errs_at_looks, report, rng, looks, ended=True)
        name = f"3 equal arms, looks {looks}, budget ends at {blocks}"
        yield rate(name, int(400 * scale), wrong, enough)


FILLED = (
    (1000, Report("3 arms, 6 blocks", [1] * 3, blocks=6), (6,), {2: 7}),
    (500, Report("7 arms, 6 blocks", [1] * 7, blocks=6), (6,), {2: 7}),
    (300, Report("3 workloads of 7 arms, 6 blocks", [1] * 7, 3, blocks=6), (6,), {2: 7}),
    (500, Report("3 arms, looks (5, 8, 12)", [1] * 3, blocks=12), (5, 8, 12), {2: 9, 9: 13}),
)
"""(campaigns, report, looks, blocks that the machine spoilt and after how many blocks they count:
they ran behind a look, or, by `resume`, behind the last)."""


def false_claims_of_filled(
    scale: float = 1.0, enough: Enough = all_of_them, *, naive: bool = False
) -> Iterator[Rate]:
    """Equal arms, judged without the spoilt blocks and once more when they have run: a false claim
    in either report counts. `naive`: they then count as if they had always been there."""
    for seed, (campaigns, report, looks, since) in enumerate(FILLED):
        rng = np.random.default_rng(3700 + seed)

        def wrong(
            report: Report = report,
            looks: Sequence[int] = looks,
            since: dict[int, int] = since,
            rng: np.random.Generator = rng,
        ) -> bool:
            arms = report.arms(rng)
            before = without(arms, since)
            after = {w: [replace(a, since={} if naive else since) for a in arms[w]] for w in arms}
            return any(
                report.false(sequential.judge(shown, report.rules, looks))
                for shown in (before, after)
            )

        name = f"{report.name}, blocks {tuple(since)} run later"
        yield rate(name, int(campaigns * scale), wrong, enough)


@dataclass(frozen=True)
class Saved:
    """What looks did for one true ratio: blocks on average, decided in the end, and how often the
    shown interval held the truth.
    """

    name: str
    blocks: float
    maximum: int
    decided: float
    covered: float
    campaigns: int

    def __str__(self) -> str:
        return (
            f"{self.name:60} {self.blocks:5.1f} of {self.maximum} blocks, decided "
            f"{self.decided:6.1%}, interval holds {self.covered:6.1%} of {self.campaigns}"
        )


def saved_by_looks(scale: float = 1.0) -> Iterator[Saved]:
    """Two arms, one slower by the ratio that the last look finds with 95 % power, or by more; and
    A/A."""
    looks = sequential.planned_looks(5, 20)
    last = resolvable_ratio(
        20, comparisons(2, 2), 0.2, Threshold(alpha=sequential.alpha_at(looks, 20))
    )
    for seed, ratio in enumerate((1.0, last, last**1.5, last**2, last**3)):
        rng = np.random.default_rng(4000 + seed)
        report = Report("", [1, ratio], 1, looks[-1], 0.2)
        campaigns = int(300 * scale)
        used, decided, covered = [], 0, 0
        for _ in range(campaigns):
            arms = report.arms(rng)
            for n in looks:
                verdicts = sequential.judge(arms, report.rules, looks, blocks=n)
                if not sequential.needs_more(verdicts):
                    break
            used.append(n)
            decided += not sequential.needs_more(verdicts)
            shown = verdicts["w0"]["arm1"]
            true = ratio if shown.against == "arm0" else 1 / ratio
            covered += (
                isinstance(shown.ratio, BlockRatio) and shown.ratio.low <= true <= shown.ratio.high
            )
        name = f"2 arms, {ratio:.3g}× at sd 0.2, looks {looks}"
        yield Saved(
            name,
            float(np.mean(used)),
            looks[-1],
            decided / campaigns,
            covered / campaigns,
            campaigns,
        )


def cut(arms: dict[str, list[JudgedArm]], blocks: int) -> dict[str, list[JudgedArm]]:
    return without(arms, range(blocks, WANTED))


def without(arms: dict[str, list[JudgedArm]], blocks: Container[int]) -> dict[str, list[JudgedArm]]:
    return {
        w: [
            JudgedArm(
                a.name,
                *(
                    {b: v for b, v in d.items() if b not in blocks}
                    for d in (a.primary, a.undelivered)
                ),
            )
            for a in judged
        ]
        for w, judged in arms.items()
    }
