"""`python -m bench [NAME…] [--times N] [--json]`: a machine card and one table of ratios with their
promised limits.

Benchmarks measure, they do not gate: the exit code is 0 whatever the verdicts are, 1 if a program
crashed, 2 for a wrong name, 130 after Ctrl-C. Progress goes to stderr, the result to stdout.
"""

import argparse
import json
import sys
import time
from typing import Any

from bench import table
from bench.programs import DEADLINE_S, PROGRAMS, Crashed, build, run
from bench.ratio import verdict
from rmwbench.errors import UserError, nearest

SCHEMA, VERSION = "rmwbench/bench", 1


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["network"]:
        from bench.network import main as network

        return network(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="How fast the instrument itself is, as ratios of things that run beside each "
        "other.",
        epilog="\n".join(f"  {p.name:11} {p.about}" for p in PROGRAMS.values())
        + "\n\nWhat the networks between hosts carry: python -m bench network --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="programs to run (all without one)"
    )
    parser.add_argument(
        "--times",
        type=int,
        default=1,
        metavar="N",
        help="N times as many pairs: longer, with narrower intervals",
    )
    parser.add_argument("--json", action="store_true", help="the whole result as one JSON document")
    options = parser.parse_args(arguments)
    if options.times < 1:
        parser.error(f"--times: expected a number from 1, found {options.times}")
    try:
        document, code = measure(_chosen(options.names), options.times)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(document, indent=1))
    else:
        from rich.console import Console

        # A pipe has no width of its own, and a wrapped table cannot be searched.
        table.render(document, Console() if sys.stdout.isatty() else Console(width=180))
    return code


def measure(names: list[str], times: int) -> tuple[dict[str, Any], int]:
    """Return the document of `--json` and the exit code."""
    from rmwbench.lab import machine

    results: list[dict[str, Any]] = []
    crashed: list[dict[str, str]] = []
    interrupted = False

    def on_line(line: dict[str, Any]) -> None:
        line["verdict"] = verdict(line)
        results.append(line)
        progress(f"  {table.what(line)}  {table.ratio(line)}  {line['verdict']}")

    commands: dict[str, list[str]] = {}
    try:
        # All builds first: a compiler beside a measurement would be measured.
        for name in names:
            if PROGRAMS[name].crates:
                progress(f"building {name}")
            try:
                commands[name] = build(PROGRAMS[name])
            except Crashed as crash:
                crashed.append({"bench": name, "problem": str(crash)})
                progress(f"  {crash}")
        card = machine.describe()
        for name, command in commands.items():
            start_s = time.monotonic()
            progress(f"{name}: {PROGRAMS[name].about}")
            try:
                run([*command, "--times", str(times)], on_line, DEADLINE_S * times)
            except Crashed as crash:
                crashed.append({"bench": name, "problem": str(crash)})
                progress(f"  {crash}")
            progress(f"  {time.monotonic() - start_s:.0f} s")
    except KeyboardInterrupt:
        interrupted = True
        card = machine.describe()
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "time_utc": card["state"]["time_utc"],
        "machine": card,
        "load_average": {"begin": card["state"]["load_1min"], "end": machine.state()["load_1min"]},
        "results": results,
        "crashed": crashed,
        "interrupted": interrupted,
        "times": times,
    }
    return document, 130 if interrupted else 1 if crashed else 0


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _chosen(names: list[str]) -> list[str]:
    """Return the programs to run, all if none is named. Raises UserError for an unknown name."""
    for name in names:
        if name not in PROGRAMS:
            suggestion = nearest(name, PROGRAMS)
            raise UserError(
                f"no bench is called {name!r}",
                expected="one of " + ", ".join(PROGRAMS),
                actual=name,
                fix=f"did you mean {suggestion!r}?" if suggestion else None,
            )
    return list(dict.fromkeys(names)) or list(PROGRAMS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
