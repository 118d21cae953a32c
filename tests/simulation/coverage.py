"""How often intervals hold the truth, at the fewest blocks that are offered. The intervals are the
shipped ones."""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.metrics.aggregate import over_trials
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats import intervals
from rmwbench.analysis.stats.estimate import Measured
from rmwbench.analysis.verdicts.ratio import ratio
from rmwbench.analysis.verdicts.verdict import BlockRatio
from tests.simulation.laws import SCENES, Scene, first_arm, trial_quantiles, true_log_quantiles
from tests.simulation.methods import METHODS

BLOCKS = 5
QUANTILES = (0.5, 0.9, 0.99)
MESSAGES = 1000


@dataclass(frozen=True)
class Row:
    """`coverage` among the campaigns that gave an interval, `given` the fraction that did, `width`
    the median of high/low (ratios, latencies, costs) or high − low (fractions, counts). `promised`
    is False for what the method page lists as not covered.
    """

    family: str
    case: str
    coverage: float
    width: float
    given: float
    campaigns: int
    promised: bool = True

    def __str__(self) -> str:
        mark = "" if self.promised else "  (not promised)"
        return (
            f"{self.family:34} {self.case:46} {self.coverage:6.1%} {self.width:8.3g} "
            f"{self.given:6.1%}{mark}"
        )


def block_ratios(campaigns: int) -> Iterator[Row]:
    """Ratio of two arms' p50, p90 and p99, by `ratio`; true ratio from the laws."""
    for number, scene in enumerate(SCENES):
        logs, truth = log_quantiles(scene, campaigns, seed=100 + number, blocks=BLOCKS)
        for at, q in enumerate(QUANTILES):
            ratios = [
                r if isinstance(r := ratio(_blocks(a), _blocks(b)), BlockRatio) else None
                for a, b in zip(np.exp(logs[:, :, 0, at]), np.exp(logs[:, :, 1, at]), strict=True)
            ]
            true = math.exp(truth[0, at] - truth[1, at])
            hits = [r.low <= true <= r.high for r in ratios if r]
            if len(hits) < campaigns / 4:
                # lost messages reach the quantile nearly always: compared by sign, there is no
                # ratio
                continue
            widths = [r.high / r.low for r in ratios if r]
            yield Row(
                "block ratio",
                f"p{q * 100:g}, {scene.name}",
                float(np.mean(hits)),
                float(np.median(widths)),
                len(hits) / campaigns,
                len(hits),
            )


def trial_latencies(campaigns: int) -> Iterator[Row]:
    """An arm's own p50, p90, p99 over five trials; with infinite trials the target is the median of
    trials."""
    for number, scene in enumerate(SCENES):
        logs, truth = log_quantiles(scene, campaigns, seed=100 + number, blocks=BLOCKS)
        for at, q in enumerate(QUANTILES):
            values = np.exp(logs[:, :, 0, at])
            infinite = ~np.isfinite(values)
            true = float(np.median(values)) if infinite.any() else math.exp(truth[0, at])
            entry = GLOSSARY[f"response_latency_p{q * 100:g}"]
            yield _row(
                "latency over trials",
                f"p{q * 100:g}, {scene.name}",
                true,
                [_over(entry, v) for v in values],
                ratio=True,
                promised=scene.promised,
            )


def pooled_latencies(campaigns: int) -> Iterator[Row]:
    """Percentiles that one trial is too short for: p90 of 5 × 21 messages, p99 of 5 × 210."""
    for number, scene in enumerate(SCENES):
        for q, messages in ((0.9, 21), (0.99, 210)):
            sample = {"blocks": BLOCKS, "messages": messages}
            everyone = np.concatenate(
                [x.ravel() for x in first_arm(scene, campaigns=2500, seed=300 + number, **sample)]
            )
            rank = math.ceil(len(everyone) * q) - 1
            true = float(np.partition(everyone, rank)[rank])
            measured = [
                intervals.pooled_quantile(list(campaign), q)
                for part in first_arm(scene, campaigns=campaigns, seed=400 + number, **sample)
                for campaign in part
            ]
            case = f"p{q * 100:g}, {scene.name}"
            yield _row(
                "percentile of trials pooled",
                case,
                true,
                measured,
                ratio=True,
                promised=scene.promised,
            )


def fractions(campaigns: int) -> Iterator[Row]:
    """Loss: independent, with trials that differ, in bursts (Gilbert's two states), 5 trials of
    1000 or 200 messages. Promised where bursts are of up to 10 messages on average, or five and
    more happen in a campaign.
    """
    rng = np.random.default_rng(500)
    for rate in (0.0005, 0.002, 0.01, 0.05, 0.3):
        counts = rng.binomial(1000, rate, (campaigns, BLOCKS))
        yield _fraction(f"independent, {rate:.2%} of 1000", rate, counts, 1000)
    for a, b in ((2, 38), (0.5, 49.5), (0.2, 19.8)):
        counts = rng.binomial(1000, rng.beta(a, b, (campaigns, BLOCKS)))
        promised = a >= 0.5
        yield _fraction(f"trials differ, Beta({a}, {b})", a / (a + b), counts, 1000, promised)
    for messages in (200, 1000):
        for burst in (2, 5, 10, 30):
            for rate in (0.0005, 0.002, 0.01, 0.05):
                counts = bursty_losses(rng, rate, burst, messages, (campaigns, BLOCKS))
                bursts = rate * messages * BLOCKS / burst
                case = f"bursts of {burst}, {rate:.2%} of {messages}"
                yield _fraction(
                    case, rate, counts, messages, burst <= 10 or bursts >= 5 or bursts <= 0.5
                )


def counts(campaigns: int) -> Iterator[Row]:
    """Duplicates, reordered and so on, per trial: single, scattered between trials, in bursts."""
    rng = np.random.default_rng(600)
    entry = GLOSSARY["reordered"]

    def row(case: str, mean: float, values: np.ndarray, promised: bool = True) -> Row:
        return _row(
            "count per trial",
            case,
            mean,
            [_over(entry, v) for v in values.astype(float)],
            promised=promised,
        )

    shape = (campaigns, BLOCKS)
    for mean in (0.05, 0.5, 3, 20):
        yield row(f"Poisson, mean {mean:g}", mean, rng.poisson(mean, shape))
    for mean in (1, 5, 50):
        yield row(
            f"trials differ, gamma shape 1, mean {mean:g}",
            mean,
            rng.poisson(rng.gamma(1, mean, shape)),
        )
    yield row(
        "trials differ, gamma shape 0.3, mean 50",
        50,
        rng.poisson(rng.gamma(0.3, 50 / 0.3, shape)),
        False,
    )
    for rate, burst in ((0.1, 5), (0.3, 10), (1, 5), (1, 20), (3, 20)):
        values = np.zeros(shape)
        bursts = rng.poisson(rate, shape)
        for k in range(int(bursts.max())):
            values += np.where(k < bursts, rng.geometric(1 / burst, shape), 0)
        yield row(f"bursts of {burst}, {rate:g} a trial", rate * burst, values)


def costs(campaigns: int) -> Iterator[Row]:
    """CPU per message, memory, rates: one value per trial."""
    rng = np.random.default_rng(700)
    laws: dict[str, Callable[[int], np.ndarray]] = {
        "log-normal, sd 0.05": lambda n: np.exp(0.05 * rng.standard_normal((n, BLOCKS))),
        "log-normal, sd 0.6": lambda n: np.exp(0.6 * rng.standard_normal((n, BLOCKS))),
        "gamma, shape 4": lambda n: rng.gamma(4, 1, (n, BLOCKS)),
        "log t with 3 degrees of freedom": lambda n: np.exp(0.2 * rng.standard_t(3, (n, BLOCKS))),
        "in ticks of a tenth": lambda n: np.maximum(
            np.round(10 * np.exp(0.1 * rng.standard_normal((n, BLOCKS)))), 1
        ),
    }
    for case, law in laws.items():
        true = math.exp(float(np.log(law(100_000)).mean()))
        entry = GLOSSARY["cpu_per_message"]
        yield _row(
            "cost per trial", case, true, [_over(entry, v) for v in law(campaigns)], ratio=True
        )
    amounts: dict[str, Callable[[int], np.ndarray]] = {
        "normal, sd 5 %": lambda n: 100 + 5 * rng.standard_normal((n, BLOCKS)),
        "rate with losses in bursts": lambda n: (
            1000 - bursty_losses(rng, 0.05, 10, 1000, (n, BLOCKS)).astype(float)
        ),
    }
    for case, law in amounts.items():
        true = float(law(20_000).mean())
        entry = GLOSSARY["achieved_rate"]
        yield _row(
            "rate per trial", case, true, [_over(entry, v) for v in law(campaigns)], ratio=True
        )


@dataclass(frozen=True)
class MethodRow:
    """One candidate on one scene: coverage and median width of the log-ratio interval at n
    blocks."""

    case: str
    blocks: int
    method: str
    coverage: float
    width: float

    def __str__(self) -> str:
        return (
            f"{self.case:46} {self.blocks:3} {self.method:20} {self.coverage:6.1%} "
            f"{self.width:8.3g}"
        )


def methods(campaigns: int, blocks: tuple[int, ...] = (5, 6, 10)) -> Iterator[MethodRow]:
    """The candidates on the same data: block log-ratios of messages, and log-ratios drawn
    directly."""
    for n in blocks:
        data: dict[str, tuple[np.ndarray, float]] = {}
        for number, scene in enumerate(SCENES):
            logs, truth = log_quantiles(scene, campaigns, seed=100 + number, blocks=n)
            for at, q in ((0, 0.5), (2, 0.99)):
                finite = np.isfinite(logs[..., at]).all((1, 2))
                difference = logs[finite, :, 0, at] - logs[finite, :, 1, at]
                if len(difference) > campaigns / 4:
                    data[f"p{q * 100:g}, {scene.name}"] = (difference, truth[0, at] - truth[1, at])
        for case, (x, true) in (data | direct(campaigns, n)).items():
            for name, method in METHODS.items():
                low, high = method(x)
                hits = (low <= true) & (true <= high)
                yield MethodRow(case, n, name, float(hits.mean()), float(np.median(high - low)))


def direct(campaigns: int, n: int) -> dict[str, tuple[np.ndarray, float]]:
    """Block log-ratios with shapes that messages seldom give: (values, true mean)."""
    rng = np.random.default_rng(800 + n)
    shape = (campaigns, n)
    ar = rng.standard_normal(shape)
    for k in range(1, n):
        ar[:, k] = 0.5 * ar[:, k - 1] + math.sqrt(0.75) * ar[:, k]
    return {
        "log-ratio t with 2 degrees of freedom": (rng.standard_t(2, shape), 0.0),
        "log-ratio, one in ten ten times as wide": (
            rng.standard_normal(shape) * np.where(rng.random(shape) < 0.1, 10, 1),
            0.0,
        ),
        "log-ratio exponential (one arm disturbed)*": (rng.standard_exponential(shape), 1.0),
        "log-ratio AR(1) 0.5 over blocks*": (ar, 0.0),
    }


@functools.lru_cache(maxsize=2 * len(SCENES))
def log_quantiles(
    scene: Scene, campaigns: int, seed: int, blocks: int
) -> tuple[np.ndarray, np.ndarray]:
    """(log trial quantiles of shape (campaigns, blocks, 2, quantiles), their true means of shape
    (2, quantiles))."""
    made = trial_quantiles(
        scene, QUANTILES, campaigns=campaigns, blocks=blocks, messages=MESSAGES, seed=seed
    )
    return np.log(made), true_log_quantiles(scene, QUANTILES, messages=MESSAGES, seed=seed + 50)


def bursty_losses(
    rng: np.random.Generator, rate: float, burst: float, messages: int, shape: tuple[int, ...]
) -> np.ndarray:
    """Losses per trial of Gilbert's channel: bad spells of geometric length with mean `burst`, in
    which all is lost."""
    leave, enter = 1 / burst, rate / burst / (1 - rate)
    bad = rng.random(shape) < rate
    lost = np.zeros(shape, int)
    for _ in range(messages):
        lost += bad
        u = rng.random(shape, dtype=np.float32)
        bad = np.where(bad, u >= leave, u < enter)
    return lost


def _fraction(
    case: str, true: float, lost: np.ndarray, messages: int, promised: bool = True
) -> Row:
    totals = np.full(BLOCKS, messages)
    measured = [intervals.clustered_fraction(c, totals)[0] for c in lost]
    return _row("fraction lost", case, true, measured, promised=promised)


def _over(entry, values: np.ndarray) -> tuple[float, float, float]:
    estimate = over_trials(entry.unit, entry.kind, values, len(values), "values")
    assert isinstance(estimate, Measured)
    return estimate.value, estimate.low, estimate.high


def _row(
    family: str,
    case: str,
    true: float,
    measured: list,
    *,
    ratio: bool = False,
    promised: bool = True,
) -> Row:
    hits = [low <= true <= high for _, low, high in measured]
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (np.array([f[k] for f in measured]) for k in (1, 2))
        widths = high / low if ratio else high - low
        width = float(np.median(np.where(np.isfinite(widths), widths, math.inf)))
    return Row(family, case, float(np.mean(hits)), width, 1.0, len(measured), promised)


def _blocks(values: np.ndarray) -> dict[int, float]:
    return dict(enumerate(values.tolist()))


FAMILIES = {
    "block ratio": block_ratios,
    "latency over trials": trial_latencies,
    "percentile of trials pooled": pooled_latencies,
    "fraction lost": fractions,
    "count per trial": counts,
    "cost and rate per trial": costs,
}
