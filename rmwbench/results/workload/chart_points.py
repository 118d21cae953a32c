"""The points of a workload's charts, thinned so that a report stays small: shapes remain visible,
single messages do not.

Quantiles are those of all done trials together. Lost messages count, so a distribution function
ends below 1 if messages never arrived."""

import math
from collections.abc import Mapping

import numpy as np

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, is_of_chain, trial_value
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.estimate import BEYOND, finites
from rmwbench.results.show_model import Ecdf, LatencyCharts, Series, Spectrum

RESPONSE = "response_latency"
END_TO_END = "end_to_end_latency"
ECDF_POINTS, SPECTRUM_POINTS = 200, 120


def source(primary: str) -> str:
    """Return the name of the latency that a workload's charts draw: that of its chains if it is
    judged by them."""
    return END_TO_END if is_of_chain(primary) else RESPONSE


def curves(trials: Mapping[str, list[MeasuredTrial]], primary: str) -> LatencyCharts:
    """Return the curves of a workload or a topic, arms in their order; `primary` is its metric."""
    latency = source(primary)
    ecdfs, spectra, all_series = [], [], []
    for arm, of_arm in trials.items():
        entry = GLOSSARY[primary]
        values = {t.trial: v for t in of_arm if (v := trial_value(entry, t)) is not None}
        ecdfs.append(ecdf(arm, of_arm, latency))
        spectra.append(spectrum(arm, of_arm, latency))
        all_series.append(series(arm, of_arm, values, latency))
    return LatencyCharts(
        ecdf=tuple(filter(None, ecdfs)),
        spectrum=tuple(filter(None, spectra)),
        series=tuple(filter(None, all_series)),
    )


def ecdf(arm: str, trials: list[MeasuredTrial], sample_name: str) -> Ecdf | None:
    """Return points (latency, fraction of the wanted messages within it), denser towards both ends.
    The last is the delivered fraction."""
    values, cumulative, total = _pooled(trials, sample_name)
    if not total:
        return None
    # logit-spaced fractions: a straight line in the middle, both tails visible on a log axis
    end = math.log(max(total - 1, 2))
    grid = 1 / (1 + np.exp(-np.linspace(-end, end, ECDF_POINTS - 2)))
    fractions = np.unique(np.concatenate([[1 / total], grid, [1.0]]))
    at = np.minimum(np.searchsorted(cumulative, fractions * total - 1e-9), len(values) - 1)
    latency = values[at]
    keep = np.isfinite(latency)
    latency, fractions = latency[keep], (cumulative[at] / total)[keep]
    if not len(latency):
        return None
    last = int(np.count_nonzero(np.isfinite(values))) - 1
    latency = np.append(latency, values[last])
    fractions = np.append(fractions, cumulative[last] / total)
    _, unique = np.unique(fractions, return_index=True)
    return Ecdf(arm=arm, latency_ns=_numbers(latency[unique]), fraction=_numbers(fractions[unique]))


def spectrum(arm: str, trials: list[MeasuredTrial], sample_name: str) -> Spectrum | None:
    """Return the quantiles 0 … 1 − 10/n, spaced evenly in log(1−q): as deep as rule 5 allows for
    all messages together; null if messages that did not arrive reach the quantile."""
    values, cumulative, total = _pooled(trials, sample_name)
    if total < 2 * BEYOND:
        return None
    depth = math.log10(total / BEYOND)
    quantile = 1 - 10 ** -np.linspace(0, depth, min(SPECTRUM_POINTS, max(int(depth * 40), 2)))
    at = np.minimum(np.searchsorted(cumulative, quantile * total - 1e-9), len(values) - 1)
    return Spectrum(arm=arm, quantile=_numbers(quantile), latency_ns=_numbers(values[at]))


def series(
    arm: str, trials: list[MeasuredTrial], metric_by_trial: dict[int, float], sample_name: str
) -> Series | None:
    """Return the trial whose primary metric is the middle one (the lower of two), or the middle
    trial in order if none has the metric: a representative trial, not chosen by eye."""
    points_of = {t.trial: points for t in trials if (points := _series(t, sample_name)) is not None}
    if not points_of:
        return None
    with_metric = points_of.keys() & metric_by_trial.keys() or points_of.keys()
    ordered = sorted(with_metric, key=lambda trial: (metric_by_trial.get(trial, math.inf), trial))
    chosen = ordered[(len(ordered) - 1) // 2]
    time_s, latency = points_of[chosen]
    return Series(arm=arm, trial=chosen, time_s=_numbers(time_s), latency_ns=_numbers(latency))


def _series(trial: MeasuredTrial, sample_name: str) -> tuple[np.ndarray, np.ndarray] | None:
    if sample_name == END_TO_END:
        return None if trial.chain is None else trial.chain.series
    return trial.messages.series


def _pooled(trials: list[MeasuredTrial], sample_name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (sorted values, cumulative count, total) of that latency over all trials."""
    samples = [
        s for t in trials if (s := t.messages.samples.get(sample_name)) is not None and s.count
    ]
    if not samples:
        return np.empty(0), np.empty(0), 0
    values = np.concatenate([s.values for s in samples])
    weights = np.concatenate(
        [np.ones(len(s.values)) if s.weight is None else s.weight for s in samples]
    )
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    return values[order], cumulative, round(float(cumulative[-1]))


def _numbers(values: np.ndarray) -> tuple[float | None, ...]:
    return tuple(None if isinstance(v, str) else v for v in finites(values.tolist()))
