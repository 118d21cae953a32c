"""A campaign under way as claims are judged by it: a show document with the metrics that they ask
for, what the machine disturbed, and nothing else.

The same numbers as `rmwbench show` gives (a test compares them); a trial is read once, however
often one looks.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rmwbench.analysis.metrics.aggregate import Trial, aggregate, trial_value
from rmwbench.analysis.metrics.comparisons import Comparison, comparisons, loads
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.topics import OF_TOPICS, POOLED, WHY_NOT_POOLED
from rmwbench.analysis.metrics.trial import measure_trial
from rmwbench.analysis.stats.metric import NoData, finites
from rmwbench.analysis.verdicts.disturbed import disturbances
from rmwbench.bundle import Bundle


class Judge:
    """Raises UserError for what cannot be measured."""

    def __init__(self, bundle: Bundle, metrics: Collection[str]):
        self._bundle, self._metrics = bundle, sorted(metrics)
        self._trials: dict[int, list[Trial]] = defaultdict(list)
        self._events: dict[int, list[dict[str, Any]]] = {}

    def document(self) -> dict[str, Any]:
        """Of all trials that the journal has by now."""
        self._bundle.reload()
        new = [line for line in self._bundle.trials("done") if line.trial not in self._events]
        for evidence in self._bundle.evidence(new):
            self._trials[evidence.cell].append(measure_trial(evidence))
            self._events[evidence.trial] = evidence.events
        campaign = self._bundle.campaign
        found = comparisons(campaign.get("plan") or {}, self._bundle.rows("cells"))
        return {
            "campaign": {
                "name": campaign["campaign"],
                "suite": (campaign.get("suite") or {}).get("name"),
            },
            "workloads": [
                {
                    "workload": one.name,
                    "arms": [self._arm(cell, one.labels[cell["cell"]]) for cell in one.cells],
                    "topics": self._topics(one),
                }
                for one in found
            ],
        }

    def _topics(self, found: Comparison) -> list[dict[str, Any]]:
        """Those that are judged one by one."""
        trials = {found.labels[cell["cell"]]: self._trials[cell["cell"]] for cell in found.cells}
        names = dict.fromkeys(
            name for of_arm in trials.values() for trial in of_arm for name in trial.topics
        )
        asked = [name for name in self._metrics if name in OF_TOPICS]
        return [
            {
                "topic": name,
                "arms": [
                    {"arm": arm}
                    | _values([t.topics[name] for t in of_arm if name in t.topics], asked)
                    for arm, of_arm in trials.items()
                ],
            }
            for name in names
        ]

    def _arm(self, cell: Mapping[str, Any], label: str) -> dict[str, Any]:
        trials = self._trials[cell["cell"]]
        pooled = [
            name
            for name in self._metrics
            if name in POOLED and any(trial.topics for trial in trials)
        ]
        values = _values(trials, [name for name in self._metrics if name not in pooled])
        values["metrics"] |= {
            name: NoData(GLOSSARY[name].unit, WHY_NOT_POOLED).document() for name in pooled
        }
        return {
            "arm": label,
            "cell": cell["cell"],
            **{key: cell[key] for key in ("layer", "version")},
            "factors": loads(cell["factors"]),
            "disturbed_by": {
                one.code: one.trials
                for one in disturbances([t.trial for t in trials], self._events)
            },
            "not_supported": self._bundle.unsupported.get(cell["cell"]),
            **values,
        }


def _values(trials: Sequence[Trial], metrics: Sequence[str]) -> dict[str, Any]:
    """An arm's `metrics` and `per_trial`, of a workload or of one of its topics."""
    per_trial = {
        name: [(t, v) for t in trials if (v := trial_value(GLOSSARY[name], t)) is not None]
        for name in metrics
    }
    return {
        "metrics": {name: aggregate(GLOSSARY[name], trials).document() for name in metrics},
        "per_trial": {
            name: [
                {"trial": t.trial, "block": t.block, "value": v}
                for (t, _), v in zip(values, finites(v for _, v in values), strict=True)
            ]
            for name, values in per_trial.items()
            if values
        },
    }
