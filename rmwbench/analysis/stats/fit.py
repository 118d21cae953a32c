"""Which distribution do latencies follow? Maximum likelihood of a few families, and how far each is
from the data.

The families are those that evaluations of latency try: normal, lognormal, gamma, Weibull, skew
normal. Positive ones are shifted, since no message is faster than its path; the shift stays a
little below the fastest message, because closer to it the likelihood of some of them has no
maximum. AIC (Akaike 1974) orders them; the distance of Kolmogorov and Smirnov says in plain terms
how good the best is: the largest error of any probability that it would give.

Maximum likelihood takes messages as independent. They are not: a busy machine delays several in a
row. The parameters stay estimates of the distribution, but a p value would be far too sharp, so
none is given; `effective` says how many independent messages the trials are worth, and goodness is
judged by the distance alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FAMILIES = ("normal", "lognormal", "gamma", "weibull", "skew normal")
FITTED = 5_000
"""At most so many messages, evenly spaced in order, go into the likelihood; the distance is of
all."""
FEWEST = 50
CLOSE, LOOSE = 0.03, 0.08
"""A distance below the first is called a fit, above the second none."""
LAGS = 100


@dataclass(frozen=True)
class Family:
    """A fitted family. `parameters` with their units in their names; `distance` is that of
    Kolmogorov and Smirnov, `quantile_errors` at a few quantiles the family's value ÷ the measured
    one, minus 1."""

    name: str
    parameters: dict[str, float]
    log_likelihood: float
    aic: float
    distance: float
    quantile_errors: dict[str, float]

    def document(self) -> dict[str, Any]:
        return {
            "family": self.name,
            "parameters": {name: float(f"{value:.6g}") for name, value in self.parameters.items()},
            "log_likelihood": round(self.log_likelihood, 2),
            "aic": round(self.aic, 2),
            "ks_distance": round(self.distance, 5),
            "quantile_errors": {
                name: round(value, 4) for name, value in self.quantile_errors.items()
            },
        }


@dataclass(frozen=True)
class Fit:
    """Of one cell. `families` by AIC, the best first; `lost` messages, which had not arrived when
    their trial ended, are in none, since infinity has no density. `autocorrelation` is that of
    neighbours (lag 1), `effective` how many independent messages they are worth."""

    messages: int
    lost: int
    fitted: int
    autocorrelation: float
    effective: float
    families: Sequence[Family]

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.messages < FEWEST:
            return (
                f"Too few messages arrived to fit anything: {self.messages}, of at least {FEWEST}."
            )
        if not self.families:
            return (
                f"None of these can be fitted: all {self.messages} messages took the same time, or "
                "nearly."
            )
        best = self.families[0]
        off = f"its probabilities are off by up to {best.distance * 100:.2g} %"
        if best.distance <= CLOSE:
            text = f"{best.name.capitalize()} fits: {off}."
        elif best.distance <= LOOSE:
            text = f"{best.name.capitalize()} is the nearest of these, and only roughly: {off}."
        else:
            text = f"None of these fits; {best.name} is the nearest, and {off}. Use the quantiles."
        if self.effective < 0.5 * self.messages:
            text += (
                " Neighbouring messages resemble each other (correlation "
                f"{self.autocorrelation:.2g}): {self.messages} are worth about "
                f"{self.effective:.0f} independent ones."
            )
        if self.lost:
            text += f" {self.lost} messages that had not arrived at the end are in no family."
        return text

    def document(self) -> dict[str, Any]:
        return {
            "messages": self.messages,
            "lost": self.lost,
            "fitted": self.fitted,
            "autocorrelation": round(self.autocorrelation, 4),
            "effective": round(self.effective, 1),
            "families": [family.document() for family in self.families],
            "text": self.verdict,
        }


def fit(trials: Sequence[np.ndarray]) -> Fit:
    """`trials`: of each trial the latencies in ns in the order of sending, +inf for never
    arrived."""
    finite = [values[np.isfinite(values)] for values in trials]
    lost = sum(len(v) for v in trials) - sum(len(v) for v in finite)
    values = np.concatenate(finite or [np.empty(0)])
    autocorrelation, effective = correlation(finite)
    if len(values) < FEWEST or np.ptp(values) == 0:
        return Fit(len(values), lost, 0, autocorrelation, effective, ())
    chosen = values[np.linspace(0, len(values) - 1, min(FITTED, len(values))).astype(np.int64)]
    ordered = np.sort(values)
    families = [
        family for name in FAMILIES if (family := _family(name, chosen, ordered)) is not None
    ]
    families.sort(key=lambda family: family.aic)
    return Fit(len(values), lost, len(chosen), autocorrelation, effective, families)


def correlation(trials: Sequence[np.ndarray]) -> tuple[float, float]:
    """(correlation of the ranks of neighbours, messages ÷ (1 + 2 Σ correlations)), summed until the
    first that is not positive (Geyer, Stat. Sci. 7, 1992, initial positive sequence, simplified).
    Of ranks, so that one outlier does not decide; lags within trials only."""
    usable = [v for v in trials if len(v) > 3]
    n = sum(len(v) for v in usable)
    if not n:
        return 0.0, 0.0
    ranked = np.argsort(np.argsort(np.concatenate(usable), kind="stable"), kind="stable").astype(
        float
    )
    ranked -= ranked.mean()
    parts = np.split(ranked, np.cumsum([len(v) for v in usable])[:-1])
    variance = float(np.mean(ranked**2))
    if variance == 0:
        return 0.0, float(n)
    first, total = 0.0, 0.0
    for lag in range(1, LAGS + 1):
        pairs = [(p[:-lag], p[lag:]) for p in parts if len(p) > lag]
        count = sum(len(a) for a, _ in pairs)
        if not count:
            break
        found = sum(float(a @ b) for a, b in pairs) / count / variance
        first = found if lag == 1 else first
        if found <= 0:
            break
        total += found
    return first, n / (1 + 2 * total)


def _family(name: str, chosen: np.ndarray, ordered: np.ndarray) -> Family | None:
    """None where the likelihood has no finite maximum here."""
    from scipy import stats

    with np.errstate(all="ignore"):
        if name == "normal":
            location, scale = float(chosen.mean()), float(chosen.std())
            law, parameters = stats.norm(location, scale), {"mean_ns": location, "sd_ns": scale}
        elif name == "skew normal":
            # In units of the spread, so that the search starts near: its steps are absolute.
            centre, spread = float(np.median(chosen)), float(chosen.std())
            shape, location, scale = stats.skewnorm.fit((chosen - centre) / spread)
            location, scale = location * spread + centre, scale * spread
            law = stats.skewnorm(shape, location, scale)
            parameters = {
                "location_ns": float(location),
                "scale_ns": float(scale),
                "shape": float(shape),
            }
        else:
            law, parameters = _shifted(_SHIFTED[name], chosen, ordered)
        likelihood = float(law.logpdf(chosen).sum())
        errors = {
            f"p{q * 100:g}": float(law.ppf(q)) / _quantile(ordered, q) - 1
            for q in (0.5, 0.95, 0.99)
        }
        distance = _distance(law.cdf(ordered))
    if not (
        math.isfinite(likelihood)
        and math.isfinite(distance)
        and all(map(math.isfinite, parameters.values()))
    ):
        return None
    free = len(parameters)
    return Family(name, parameters, likelihood, 2 * free - 2 * likelihood, distance, errors)


def _lognormal(above: np.ndarray, shift: float) -> tuple[Any, dict[str, float]]:
    from scipy import stats

    logs = np.log(above)
    sigma, median = float(logs.std()), float(np.exp(logs.mean()))
    return stats.lognorm(sigma, shift, median), {
        "median_above_shift_ns": median,
        "sigma_log": sigma,
    }


def _gamma(above: np.ndarray, shift: float) -> tuple[Any, dict[str, float]]:
    """The shape by Newton's method from Minka's start ("Estimating a gamma distribution", 2002)."""
    from scipy import special, stats

    mean = float(above.mean())
    s = math.log(mean) - float(np.log(above).mean())
    shape = (3 - s + math.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(8):
        slope = 1 / shape - special.polygamma(1, shape)
        shape = max(1e-3, shape - (math.log(shape) - special.digamma(shape) - s) / slope)
    return stats.gamma(shape, shift, mean / shape), {
        "shape": float(shape),
        "scale_ns": float(mean / shape),
    }


def _weibull(above: np.ndarray, shift: float) -> tuple[Any, dict[str, float]]:
    """The shape where the likelihood's derivative is zero, by bisection; the scale follows from
    it."""
    from scipy import stats

    scaled = above / above.max()
    logs = np.log(scaled)
    low, high = 0.05, 200.0
    for _ in range(40):
        shape = math.sqrt(low * high)
        powers = scaled**shape
        rising = float((powers * logs).sum() / powers.sum()) - 1 / shape - float(logs.mean()) < 0
        low, high = (shape, high) if rising else (low, shape)
    scale = float(above.max() * (scaled**shape).mean() ** (1 / shape))
    return stats.weibull_min(shape, shift, scale), {"shape": shape, "scale_ns": scale}


_Fit = Callable[[np.ndarray, float], tuple[Any, dict[str, float]]]
_SHIFTED: Mapping[str, _Fit] = {
    "lognormal": _lognormal,
    "gamma": _gamma,
    "weibull": _weibull,
}


def _shifted(of: _Fit, chosen: np.ndarray, ordered: np.ndarray) -> tuple[Any, dict[str, float]]:
    """The family at the most likely shift: from a twentieth of the way between the fastest message
    and the 5 % quantile below the fastest down to twenty of the data's spreads."""
    from scipy import optimize

    fastest = float(ordered[0])
    least = max(
        0.05 * (float(ordered[len(ordered) // 20]) - fastest), 1e-6 * float(np.ptp(ordered)), 1.0
    )
    most = max(20 * float(chosen.std()), 2 * least)

    def lacking(log_gap: float) -> float:
        shift = fastest - math.exp(log_gap)
        found = -float(of(chosen - shift, shift)[0].logpdf(chosen).sum())
        return found if math.isfinite(found) else 1e300

    best = optimize.minimize_scalar(
        lacking,
        bounds=(math.log(least), math.log(most)),
        method="bounded",
        options={"xatol": 0.02, "maxiter": 40},
    )
    shift = fastest - math.exp(best.x)
    law, parameters = of(chosen - shift, shift)
    return law, {"shift_ns": shift} | parameters


def _quantile(ordered: np.ndarray, q: float) -> float:
    return float(ordered[min(math.ceil(len(ordered) * q) - 1, len(ordered) - 1)]) or 1.0


def _distance(probability: np.ndarray) -> float:
    """sup |F − Fₙ|: `probability` is F at the sorted values, shape (n,)."""
    n = len(probability)
    steps = np.arange(1, n + 1) / n
    return float(max((steps - probability).max(), (probability - (steps - 1 / n)).max()))
