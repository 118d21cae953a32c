"""A campaign under way as claims are judged by it: with the metrics that they ask for, what the
machine disturbed, and nothing else.

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
from rmwbench.analysis.verdicts.disturbed import disturbances
from rmwbench.analysis.verdicts.failing import lost_by_its_arm
from rmwbench.bundle import Bundle
from rmwbench.codes import Code
from rmwbench.published.campaign import Arm, Campaign, Values, Workload
from rmwbench.results.machine.machine import machine
from rmwbench.results.model import Metric


class Judge:
    """Raises UserError for what cannot be measured."""

    def __init__(self, bundle: Bundle, metrics: Collection[str]):
        self._bundle, self._metrics = bundle, sorted(metrics)
        self._trials: dict[int, list[Trial]] = defaultdict(list)
        self._events: dict[int, list[dict[str, Any]]] = {}
        self._touch: dict[int, dict[str, None]] = defaultdict(dict)
        self._lost: dict[int, set[int]] = defaultdict(set)

    def campaign(self) -> Campaign:
        """Of all trials that the journal has by now, those that an arm lost by its own fault
        too."""
        self._bundle.reload()
        new = [line for line in self._bundle.trials("done") if line.trial not in self._events]
        for evidence in self._bundle.evidence(new):
            self._trials[evidence.cell].append(measure_trial(evidence))
            self._events[evidence.trial] = evidence.events
            asked = (loads(one["asked"]).get("touch") for one in evidence.endpoints)
            self._touch[evidence.cell] |= dict.fromkeys(filter(None, asked))
        self._lost.clear()
        for line in self._bundle.trials():
            if lost_by_its_arm(line):
                self._lost[line.cell].add(line.block)
        about, on = self._bundle.campaign, machine(self._bundle)
        found = comparisons(about.get("plan") or {}, self._bundle.rows("cells"))
        return Campaign(
            name=about["campaign"],
            suite=(about.get("suite") or {}).get("name"),
            created_utc=about.get("created_utc"),
            machine=on.summary,
            facts=on.facts,
            workloads=tuple(map(self._workload, found)),
        )

    def _workload(self, found: Comparison) -> Workload:
        # A topic in which an arm has no trial yet has no values for it.
        names = dict.fromkeys(
            name
            for cell in found.cells
            for trial in self._trials[cell["cell"]]
            for name in trial.topics
        )
        return Workload(
            workload=found.name,
            arms=tuple(
                self._arm(cell, found.labels[cell["cell"]], list(names)) for cell in found.cells
            ),
        )

    def _arm(self, cell: Mapping[str, Any], label: str, topics: Sequence[str]) -> Arm:
        trials = self._trials[cell["cell"]]
        pooled = [
            name
            for name in self._metrics
            if name in POOLED and any(trial.topics for trial in trials)
        ]
        whole = _values(trials, [name for name in self._metrics if name not in pooled])
        of_topics = [name for name in self._metrics if name in OF_TOPICS]
        disturbed = disturbances([t.trial for t in trials], self._events)
        return Arm(
            arm=label,
            middleware=cell["middleware"],
            layer=cell["layer"],
            version=cell["version"],
            factors=loads(cell["factors"]),
            touch=" / ".join(self._touch[cell["cell"]]) or None,
            not_supported=self._bundle.unsupported.get(cell["cell"]),
            machine_bound=next(
                (one.trials for one in disturbed if one.code == Code.MACHINE_BOUND), 0
            ),
            lost_blocks=tuple(sorted(self._lost[cell["cell"]])),
            done=len(trials),
            metrics={
                **whole.metrics,
                **{
                    name: Metric(unit=GLOSSARY[name].unit, no_data=WHY_NOT_POOLED)
                    for name in pooled
                },
            },
            per_trial=whole.per_trial,
            topics={
                name: _values([t.topics[name] for t in trials if name in t.topics], of_topics)
                for name in topics
            },
        )


def _values(trials: Sequence[Trial], metrics: Sequence[str]) -> Values:
    """Of a workload, or of one of its topics."""
    per_trial = {
        name: {
            t.block: value for t in trials if (value := trial_value(GLOSSARY[name], t)) is not None
        }
        for name in metrics
    }
    return Values(
        metrics={name: Metric.of(aggregate(GLOSSARY[name], trials).document()) for name in metrics},
        per_trial={name: values for name, values in per_trial.items() if values},
    )
