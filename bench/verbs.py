"""How long the answers take that somebody waits for: the help, `show`, `report` and `claims`,
against a bare interpreter.

    python -m bench.verbs [--pairs 8] [--times 1]

The campaign is an invented one of the size of `quick`: three workloads of eight arms, ten blocks.
Each verb runs in a fresh process beside an interpreter that does nothing, in turns; CPU time, since
that is what the program can help. The first run is not counted: it writes the bytecode.
"""

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.command import timed
from bench.ratio import line, until_decided

BLOCKS = 10


@dataclass(frozen=True)
class Verb:
    """`arguments`: what is typed, DIR being the campaign; `limit`: of its time ÷ that of a bare
    interpreter."""

    name: str
    arguments: tuple[str, ...]
    limit: float


VERBS = (
    Verb("--help", ("--help",), 12),
    Verb("show of quick", ("show", "DIR"), 140),
    Verb("report of quick", ("report", "DIR"), 240),
    Verb("claims", ("published", "claims"), 140),
)
"""The limits are 0.13, 1.5, 2.6 and 1.5 s where an interpreter starts in 11 ms; docs/benchmarks.md
says why they are what they are."""


def campaign(directory: Path, blocks: int = BLOCKS) -> Path:
    from tests.support import synthetic_bundle

    return synthetic_bundle.write(directory, blocks=blocks, merged=True)


def measure(verb: Verb, directory: Path, bytecode: Path, pairs: int) -> dict:
    """Return the line of a verb."""
    arguments = [str(directory) if word == "DIR" else word for word in verb.arguments]
    timed(arguments, bytecode)
    ours, theirs = [], []

    def pair(_: int) -> str:
        ours.append(timed(arguments, bytecode))
        theirs.append(timed((), bytecode, program="pass"))
        return f"{verb.name} {ours[-1]['seconds']:.2f} s"

    def lines() -> list[dict]:
        result = line(
            bench="verbs",
            name=f"{verb.name} / a bare interpreter",
            message_bytes=0,
            metric="cpu",
            unit="s",
            limit=(None, verb.limit),
            ours=[run["seconds"] for run in ours],
            theirs=[run["seconds"] for run in theirs],
            details={"peak_bytes": max(run["peak_bytes"] for run in ours)},
        )
        return [result]

    return until_decided(pairs, pair, lines)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8, help="8 are the fewest with an interval")
    parser.add_argument("--times", type=int, default=1, help="a factor for the pairs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rmwbench-bench-") as temporary:
        directory = campaign(Path(temporary) / "campaign")
        for verb in VERBS:
            pairs = arguments.pairs * arguments.times
            result = measure(verb, directory, Path(temporary) / "pyc", pairs)
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
