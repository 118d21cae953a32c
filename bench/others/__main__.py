"""`python -m bench others [PART…] [--repetitions N] [--seconds S] [--bundle DIR] [--json]`: how
wrong other tools are, read beside our ledger on the same traffic, and our records evaluated as
others evaluate theirs.

Scenarios take turns within each repetition, so that a busy minute disturbs all alike. Exit code 0
whatever the errors; 1 when a part failed, 2 for a wrong argument, 130 after Ctrl-C. Progress goes
to stderr, the result to stdout.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.others import ddsperf, fastdds, habits, ros2, table
from bench.others.errors import Reading, line
from bench.others.evidence import Seen
from bench.others.traffic import ToolFailed
from bench.programs import Crashed
from rmwbench.analysis.records.columns import Endpoint, Window
from rmwbench.errors import UserError
from rmwbench.lab.host import HostBroken
from rmwbench.lab.process.worker import WorkerFailed

SCHEMA, VERSION = "rmwbench/others", 1
PARTS = ("ddsperf", "fastdds", "ros2")
FAILURES = (Crashed, ToolFailed, WorkerFailed, HostBroken, UserError, ValueError)
Readings = dict[tuple[str, str, str], list[Reading]]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench others", description=__doc__.split(":", 1)[1].strip()
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all without one)"
    )
    parser.add_argument(
        "--repetitions", type=int, default=6, metavar="N", help="6 are the fewest with an interval"
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="DIR",
        help="only evaluate this bundle's records as others do",
    )
    parser.add_argument("--json", action="store_true", help="the whole result as one JSON document")
    options = parser.parse_args(arguments)
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"no part is called {part!r}: expected {', '.join(PARTS)}")
    if options.repetitions < 1:
        parser.error(f"--repetitions: expected a number from 1, found {options.repetitions}")
    try:
        work = Work(options.repetitions)
        if options.bundle:
            work.bundle(options.bundle)
        else:
            work.run(options.parts or PARTS)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    document = work.document()
    if options.json:
        print(json.dumps(document, indent=1))
    else:
        from rich.console import Console

        # A pipe has no width of its own, and a wrapped table cannot be searched.
        table.render(document, Console() if sys.stdout.isatty() else Console(width=200))
    return 130 if work.interrupted else 1 if work.failed else 0


class Work:
    """What was read so far. Whatever ends it, the document holds what there is."""

    def __init__(self, repetitions: int):
        from rmwbench.lab import machine

        self.repetitions = repetitions
        self.card = machine.describe()
        self.tools: Readings = {}
        self.habits: Readings = {}
        self.flows: dict[str, list[habits.Flow]] = {}
        self.not_here: list[dict[str, str]] = []
        self.failed: list[dict[str, str]] = []
        self.warnings: dict[tuple[str, str], str] = {}
        self.interrupted = False

    def run(self, parts: Sequence[str]) -> None:
        try:
            steps = [step for part in PARTS if part in parts for step in self._steps(part)]
            for repetition in range(self.repetitions):
                for name, step in steps:
                    progress(f"{name}, {repetition + 1} of {self.repetitions}")
                    self._attempt(name, step)
        except KeyboardInterrupt:
            self.interrupted = True

    def _steps(self, part: str) -> list[tuple[str, Callable[[], None]]]:
        """What one repetition of a part does; builds first, because a compiler beside a measurement
        is measured."""
        steps: list[tuple[str, Callable[[], None]]] = []
        if part == "ddsperf":
            self._attempt("ddsperf: building", lambda: steps.extend(self._ddsperf()))
        elif part == "fastdds":
            self._attempt("fastdds: building", lambda: steps.extend(self._fastdds()))
        elif reason := ros2.missing():
            self.not_here.append({"tool": "ros2 topic hz, ros2 topic bw", "reason": reason})
            progress(f"ros2: not here: {reason}")
        else:
            self._attempt("ros2: building", lambda: steps.extend(self._ros2()))
        return steps

    def _attempt(self, what: str, step: Callable[[], None]) -> None:
        try:
            step()
        except FAILURES as failure:
            self.failed.append({"what": what, "problem": str(failure)})
            progress(f"  {failure}")

    def _ddsperf(self) -> list[tuple[str, Callable[[], None]]]:
        programs = ddsperf.programs()

        def step(scenario: ddsperf.Scenario) -> None:
            seen = ddsperf.trial(scenario, programs)
            self._take("ddsperf", scenario.name, scenario.readings(seen), seen)
            if not scenario.name.startswith("ping"):
                flow = habits.flow(seen.columns, seen.endpoints, seen.window)
                self._habits(
                    scenario.name, flow, [h for h in habits.HABITS if scenario.name in h.shown_by]
                )

        return [(f"ddsperf, {s.name}: {s.about}", lambda s=s: step(s)) for s in ddsperf.SCENARIOS]

    def _fastdds(self) -> list[tuple[str, Callable[[], None]]]:
        programs = fastdds.programs()

        def step(scenario: fastdds.Scenario) -> None:
            tool = "Fast DDS statistics"
            if any(absent["tool"] == tool for absent in self.not_here):
                return
            seen = fastdds.trial(scenario, programs)
            if reason := fastdds.absent(seen.printed):
                self.not_here.append({"tool": tool, "reason": reason})
            else:
                self._take(tool, scenario.name, scenario.readings(seen), seen)

        return [(f"fastdds, {s.name}: {s.about}", lambda s=s: step(s)) for s in fastdds.SCENARIOS]

    def _ros2(self) -> list[tuple[str, Callable[[], None]]]:
        programs = ddsperf.programs()

        def step(verb: str, scenario: ros2.Scenario) -> None:
            seen = ros2.trial(verb, scenario, programs.worker, programs.profile)
            self._take(f"ros2 topic {verb}", scenario.name, ros2.readings(verb, seen), seen)

        return [
            (f"ros2 topic {verb}, {s.name}: {s.about}", lambda verb=verb, s=s: step(verb, s))
            for verb in ros2.VERBS
            for s in ros2.SCENARIOS
        ]

    def _take(self, tool: str, scenario: str, found: Sequence[Reading], seen: Seen) -> None:
        for warning in seen.warnings:
            self.warnings[tool, scenario] = warning
            progress(f"  {warning}")
        for reading in found:
            self.tools.setdefault((tool, scenario, reading.quantity), []).append(reading)

    def _habits(
        self, scenario: str, flow: habits.Flow | None, chosen: Sequence[habits.Habit]
    ) -> None:
        if flow is None:
            return
        self.flows.setdefault(scenario, []).append(flow)
        for habit in chosen:
            key = (f"{habit.name} ({habit.seen_in})", scenario)
            reading = habit.reading(flow)
            self.habits.setdefault((*key, reading.quantity), []).append(reading)

    def bundle(self, directory: Path) -> None:
        """Every habit on every done trial of a bundle, cell by cell; of a trial its first pair of
        writer and reader."""
        from rmwbench.bundle import Bundle

        bundle = Bundle(directory)
        cells = {row["cell"]: f"{row['arm']}, {row['workload']}" for row in bundle.rows("cells")}
        for evidence in bundle.evidence(bundle.trials("done")):
            edges = [evidence.row.get(f"steady_{edge}_ns") for edge in ("begin", "end")]
            window = None if None in edges else Window(*edges)
            endpoints = [Endpoint(e["endpoint"], e["kind"], e["topic"]) for e in evidence.endpoints]
            name = f"{cells.get(evidence.cell, 'cell')} ({evidence.cell})"
            self._attempt(
                f"trial {evidence.trial}",
                lambda evidence=evidence, endpoints=endpoints, window=window, name=name: (
                    self._habits(
                        name, habits.flow(evidence.records, endpoints, window), habits.HABITS
                    )
                ),
            )

    def document(self) -> dict[str, Any]:
        from rmwbench.lab import machine

        state = self.card["state"]
        pooled = [
            {"scenario": name, "held": held, "trials": trials}
            for name, flows in self.flows.items()
            if (found := habits.seconds_as_samples(flows))
            for held, trials in [found]
        ]
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "time_utc": state["time_utc"],
            "machine": self.card,
            "load_average": {"begin": state["load_1min"], "end": machine.state()["load_1min"]},
            "tools": [
                line(*key[:2], found, self.warnings.get(key[:2]))
                for key, found in self.tools.items()
            ],
            "habits": [line(*key[:2], found) for key, found in self.habits.items()],
            "seconds_as_samples": pooled,
            "not_here": self.not_here,
            "failed": self.failed,
            "interrupted": self.interrupted,
        }


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
