"""A generator of bad inputs: suites, campaign.json, journals, tables, archives and options, each
given to the command line, which must end with an exit code that means something, one clear error,
and within a time.

    make fuzz                                             5 000 cases, 0 where all ended gracefully
    .venv/bin/python -m tests.badinput.fuzz --cases 500 --seed 7 --keep

A case is a complete document, so that a case that was found stays the same when this generator
changes: `--keep` adds the cases that ended ungracefully to corpus.jsonl, which test_corpus.py runs
with the ordinary tests. Each case runs in a process of its own, forked from one that has
imported everything.
"""

import argparse
import base64
import collections
import copy
import json
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support import synthetic_bundle

CORPUS = Path(__file__).with_name("corpus.jsonl")
PROCESSOR_S = 60
"""CPU seconds per case; the wall-clock limit is higher, since a busy machine is not the case's
fault."""
TIMEOUT_S = 600.0
SUITE = """\
suite: mini
title: a test
blocks: {planned: 6, minimum: 5}
timeline: {warmup_s: 0.05, steady_s: 1.0, drain_s: 0.1}
arms:
  - {name: one, middleware: synthetic}
  - {name: two, middleware: zenoh, profile: tuned, options: {path: lo}}
workloads:
  - {name: small, message: Bytes(100), rate_hz: 400, qos: {depth: 3}}
  - name: pair
    message: Array4k
    arrival: {kind: periodic, rate_hz: 30}
    nodes:
      - {name: a, host: left, publishers: [{topic: t}]}
      - {name: b, host: right, subscriptions: [{topic: t}]}
    network: thin
networks:
  thin: {links: {left: {both: {rate_mbps: 10, delay_ms: 5, loss: 0.01}}}}
factors: {reliability: [reliable, best_effort]}
exclude: [{arm: two, reliability: best_effort}]
outcomes: {acceptable: {undelivered: 0.01}}
"""
NASTY: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 1e308, -0.0, 1e-320, 0.5),
    *(float("nan"), float("inf"), float("-inf"), "", " ", "a", "\x00", "\x1b[2J", "\ud800"),
    *("é" * 300, "x" * 70_000, "../../etc/passwd", "/dev/zero", "a\nb", "%s%n", "${HOME}"),
    *("<script>", "1e999", "-1", "nan", "2026-99-99T"),
    *([], {}, [[]], [{}], [None], {"": None}, {"a": {"b": []}}, [1, "a", None], [0] * 2000),
    *("done", "trial"),
)


def _commands(lines: str) -> tuple[list[str], ...]:
    return tuple(shlex.split(line) for line in lines.strip().splitlines())


READERS = _commands("""
show C
show C --json
explain C
explain C --json
report C --out OUT.html
query 'select * from trials' C
clean C --dry-run
published claims gscam-2025 --campaign C --no-shipped
compare C OTHER
clean C
report C --format markdown --out OUT.md
""")
OPTIONS = _commands("""
plan quick --cluster 2 --budget
plan quick --cluster 2 --seed
plan quick --cluster
plan quick --cluster 2 --arm
plan --cluster 2
show
report C --out
report C --format
explain C --trial
explain C --arm
compare C OTHER --margin
compare C OTHER --metric
compare C
query
query 'select 1' C --rows
published claims
published claims --verdict
published claims --heading
published figures
published figures --figure
published figures gscam-2025 -o
published questionnaire --question
published import
published import --out
middlewares show
clean
''
published community survey
published community admission
published community rep2004
capacity quick --limit
resume
run quick --series
run quick --budget
published community github --from
""")
SQL = ("select", "*", "from", "sent", "received", "where", "group by", "1")
SQL += ("'", '"', "(", ")", ";", "--", "\x00", "over")


class Material:
    """The files that cases are made of, in a directory of their own."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.campaign, self.other = (
            synthetic_bundle.write(
                directory / name,
                blocks=5,
                workloads=("imu",),
                arms=synthetic_bundle.ARMS[:3],
                seed=seed,
            )
            for name, seed in (("campaign", 7), ("other", 9))
        )
        self.document = json.loads((self.campaign / "campaign.json").read_text())
        lines = (self.campaign / "journal.jsonl").read_text().splitlines()
        look = {
            "type": "look",
            "blocks": 5,
            "looks": [5],
            "decided": 1,
            "alpha": 0.05,
            "ended": True,
            "of": 1,
            "open": [],
            "verdicts": {},
            "stop": None,
        }
        resource_line = {
            "type": "created",
            "resource": {"kind": "hosts", "marker": "1:2:pid:[3]:x"},
        }
        merged = {"type": "merged", "merge": 0, "tables": {"sent": [[0, 3]]}}
        dropped = {"type": "dropped", "blocks": 3, "cells": [1], "why": "time"}
        lines += map(json.dumps, (look, resource_line, merged, dropped))
        self.lines = [json.loads(line) for line in lines]
        self.tables = sorted(path.name for path in (self.campaign / "tables").iterdir())


def draw_case(draw: random.Random, material: Material) -> dict[str, Any]:
    """One bad input, as a document of JSON."""
    often = ("suite", "suite", "campaign.json", "campaign.json")
    kind = draw.choice((*often, "journal", "table", "archive", "options"))
    verb = list(draw.choice(READERS))
    match kind:
        case "suite":
            return {
                "input": kind,
                "text": _bent_text(draw),
                "verb": ["plan", "SUITE", "--cluster", "2"],
            }
        case "campaign.json":
            path = _place(draw, material.document)
            return {"input": kind, "path": path, "value": draw.choice(NASTY), "verb": verb}
        case "journal":
            number = draw.randrange(len(material.lines))
            case = {"input": kind, "line": number, "verb": verb}
            if draw.random() < 0.2:
                return case | {"raw": _bent(draw, json.dumps(material.lines[number]))}
            path = _place(draw, material.lines[number])
            return case | {"path": path, "value": draw.choice(NASTY)}
        case "table":
            return _bent_table(draw, material) | {"verb": verb}
        case "archive":
            return {
                "input": kind,
                **_bent_archive(draw),
                "verb": ["published", "import", "ARCHIVE", "--out", "OUT"],
            }
    words = list(draw.choice(OPTIONS))
    for _ in range(draw.randrange(1, 3)):
        value = draw.choice(NASTY)
        text = (
            " ".join(draw.choices(SQL, k=6))
            if words == ["query"]
            else str(value).replace("\x00", "\\0")
        )
        words.append(text.encode("utf-8", "replace").decode()[:20_000])
    return {"input": "options", "verb": words}


def _place(draw: random.Random, document: Any) -> list[str | int]:
    path: list[str | int] = []
    while isinstance(document, (dict, list)) and document and (not path or draw.random() < 0.75):
        key = (
            draw.choice(list(document))
            if isinstance(document, dict)
            else draw.randrange(len(document))
        )
        path.append(key)
        document = document[key]
    return path


def _bent_text(draw: random.Random) -> str:
    from ruamel.yaml import YAML

    if draw.random() < 0.4:
        return _bent(draw, SUITE)
    tree = YAML(typ="safe").load(SUITE)
    for _ in range(draw.randrange(1, 3)):
        _put(tree, _place(draw, tree), copy.deepcopy(draw.choice(NASTY)))
    return json.dumps(tree)  # which is YAML


def _bent(draw: random.Random, text: str) -> str:
    for _ in range(draw.randrange(1, 4)):
        at, to = sorted((draw.randrange(len(text) + 1), draw.randrange(len(text) + 1)))
        to = min(to, at + 40)
        signs = ("", "\n", ":", "- ", "&a ", "*a", "[", "{", "}", "\t", "\x00", "é")
        piece = draw.choice((*signs, "1e400", "!!int ", "<<: *a", text[at:to]))
        text = text[:at] + piece + text[draw.choice((at, to)) :]
    return text


def _put(document: Any, path: list[str | int], value: Any) -> None:
    for key in path[:-1]:
        document = document[key]
    if path:
        document[path[-1]] = value


def _bent_table(draw: random.Random, material: Material) -> dict[str, Any]:
    import pyarrow.parquet as pq

    name = draw.choice(material.tables)
    file = draw.choice(
        sorted(path.name for path in (material.campaign / "tables" / name).iterdir())
    )
    bent = {"input": "table", "table": name, "file": file}
    size = (material.campaign / "tables" / name / file).stat().st_size
    if draw.random() < 0.3:
        return bent | {
            "flip": [
                [draw.randrange(size), draw.randrange(1, 256)]
                for _ in range(draw.choice((1, 3, 50)))
            ]
        }
    if draw.random() < 0.2:
        return bent | {"cut": draw.randrange(size)}
    columns = pq.read_schema(material.campaign / "tables" / name / file).names
    return bent | {
        "column": draw.choice(columns),
        "value": draw.choice(NASTY),
        "rows": draw.choice((1, None)),
    }


def _bent_archive(draw: random.Random) -> dict[str, Any]:
    import io
    import tarfile

    text = (
        "Experiment id: x\nLogfile name: y\n"
        + "T_experiment,T_loop,received,sent\n"
        + "1.0,1.0,30,30\n" * 3
    )
    if draw.random() < 0.4:
        return {
            "name": draw.choice(("log", "log.csv", "log.json", "a.pcap")),
            "base64": _64(_bent(draw, text).encode()),
        }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=draw.choice(("w", "w:gz"))) as tar:
        for _ in range(draw.randrange(1, 4)):
            member = tarfile.TarInfo(
                draw.choice(("a/log", "../log", "/log", "log", "a" * 300, "\x1b[2J"))
            )
            content = _bent(draw, text).encode()
            odd = (tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)
            member.type = draw.choice((tarfile.REGTYPE, tarfile.REGTYPE, *odd))
            member.linkname = draw.choice(("log", "/etc/passwd", "../../x"))
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))
    raw = bytearray(packed.getvalue())
    for _ in range(draw.choice((0, 0, 1, 20))):
        raw[draw.randrange(len(raw))] ^= draw.randrange(1, 256)
    return {"name": "log.tar", "base64": _64(bytes(raw[: draw.choice((len(raw), len(raw) // 2))]))}


def _64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def arguments(case: dict[str, Any], material: Material, place: Path) -> list[str]:
    """Writes the input of the case below `place`; returns the arguments of the command."""
    campaign = place / "campaign"
    if "C" in case["verb"]:
        shutil.copytree(material.campaign, campaign)
    match case["input"]:
        case "suite":
            (place / "suite.yaml").write_bytes(case["text"].encode("utf-8", "surrogatepass"))
        case "campaign.json":
            document = copy.deepcopy(material.document)
            _put(document, case["path"], case["value"])
            (campaign / "campaign.json").write_text(json.dumps(document))
        case "journal":
            lines = list(map(json.dumps, material.lines))
            line = copy.deepcopy(material.lines[case["line"]])
            if "raw" in case:
                lines[case["line"]] = case["raw"]
            else:
                _put(line, case["path"], case["value"])
                lines[case["line"]] = json.dumps(line)
            (campaign / "journal.jsonl").write_text("\n".join(lines) + "\n", errors="surrogatepass")
        case "table":
            _bend_file(case, campaign / "tables" / case["table"] / case["file"])
        case "archive":
            (place / case["name"]).write_bytes(base64.b64decode(case["base64"]))
    words = {
        "C": str(campaign),
        "OTHER": str(material.other),
        "SUITE": str(place / "suite.yaml"),
        "ARCHIVE": str(place / str(case.get("name"))),
        "OUT": str(place / "out"),
        "OUT.html": str(place / "out.html"),
        "OUT.md": str(place / "out.md"),
    }
    return [words.get(word, word) for word in case["verb"]]


def _bend_file(case: dict[str, Any], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    raw = bytearray(path.read_bytes())
    for at, by in case.get("flip", ()):
        raw[at] ^= by
    if "column" not in case:
        path.write_bytes(raw[: case.get("cut", len(raw))])
        return
    table = pq.read_table(path)
    at = table.column_names.index(case["column"])
    field = table.schema.field(at)
    values = table.column(at).to_pylist()
    values[: case["rows"]] = [case["value"]] * len(values[: case["rows"]])
    try:
        column = pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # another type than the format's
        column = pa.array([json.dumps(value)[:100] for value in values])
    pq.write_table(table.set_column(at, field.with_type(column.type), column), path)


def outcome(case: dict[str, Any], material: Material) -> str | None:
    """Runs a case; what was ungraceful about its end, or None."""
    place = Path(tempfile.mkdtemp(dir=material.directory))
    try:
        words = arguments(case, material, place)
        stdout, errors, status = _run(words, place)
        left = [path.name for path in place.rglob("*") if "partial" in path.name]
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if status is None:
        return f"not ended within {TIMEOUT_S:.0f} s"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return f"more than {PROCESSOR_S} s of a processor"
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}: {errors[-150:]!r}"
    code = os.WEXITSTATUS(status)
    if "a mistake in rmwbench" in errors:
        return errors.partition("command: ")[2].partition("\n")[0][:150] or errors[:150]
    if "Traceback" in errors or code not in (0, 1, 2):
        return f"exit code {code}: {errors[-150:]!r}"
    if (
        code == 2
        and "rror" not in errors
        and "Usage" not in errors + stdout
        and words[:1] != ["compare"]
    ):
        return f"exit code 2 without an error: {errors[-150:]!r}"
    if any(ord(sign) < 32 and sign not in "\n\t" for sign in errors):
        return f"control codes on stderr: {errors[:150]!r}"
    return f"left behind: {left}" if left else None


def _run(words: list[str], place: Path) -> tuple[str, str, int | None]:
    """stdout, stderr and the wait status, None where it took too long."""
    child = os.fork()
    if not child:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S + 5))
            os.chdir(place)
            for descriptor, name in ((0, os.devnull), (1, "stdout"), (2, "errors")):
                os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o600), descriptor)
            sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = sys.__stderr__ = open(2, "w", closefd=False)  # noqa: SIM115
            os.environ |= {
                "XDG_STATE_HOME": str(place),
                "NO_COLOR": "1",
                "COLUMNS": "100",
                "TERM": "dumb",
            }
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            from rmwbench.cli.main import main

            main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        except BaseException:
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
        os._exit(99)
    deadline, status = time.monotonic() + TIMEOUT_S, None
    while time.monotonic() < deadline and status is None:
        ended, wait_status = os.waitpid(child, os.WNOHANG)
        status = wait_status if ended else None
        if status is None:
            time.sleep(0.005)
    if status is None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    texts = [
        (place / name).read_bytes()[:1_000_000].decode(errors="replace")
        for name in ("stdout", "errors")
    ]
    return texts[0], texts[1], status


def corpus_cases() -> list[dict[str, Any]]:
    """The cases that once ended ungracefully."""
    return [json.loads(line) for line in CORPUS.read_text().splitlines()] if CORPUS.exists() else []


def warm() -> None:
    """Imports what verbs need, once for all cases."""
    import rmwbench.bundle.sql
    import rmwbench.campaign.start
    import rmwbench.cli.main
    import rmwbench.published.claims.claims_ledger
    import rmwbench.published.importers
    import rmwbench.report.render.html
    import rmwbench.report.render.markdown
    import rmwbench.report.render.terminal
    import rmwbench.report.show.suite_view  # noqa: F401


def serve() -> None:
    """Reads a case per line; prints its problem, or null, as one line."""
    with tempfile.TemporaryDirectory(prefix="rmwbench-fuzz-") as directory:
        material = Material(Path(directory))
        for line in sys.stdin:
            print(json.dumps(outcome(json.loads(line), material)), flush=True)


class Server:
    """`serve` in a process of its own, which has no threads when it forks: a test's has those of
    whatever ran before (a renderer's, Arrow's), and a lock that one of them holds stays locked in
    the child for ever."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.badinput.fuzz", "--serve"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def outcome(self, case: dict[str, Any]) -> str | None:
        """As `outcome`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        problem: str | None = json.loads(self._process.stdout.readline())
        return problem

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="The number of the first case.")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="End after this time.")
    parser.add_argument(
        "--only", metavar="KIND", help="Cases of this kind of input alone, such as table."
    )
    parser.add_argument(
        "--keep", action="store_true", help="Add a case of each new cause to the corpus."
    )
    parser.add_argument(
        "--serve", action="store_true", help="Run the cases that stdin has, one a line, instead."
    )
    options = parser.parse_args()
    warm()
    if options.serve:
        return serve()
    run, causes, examples = collections.Counter[str](), collections.Counter[tuple[str, str]](), {}
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="rmwbench-fuzz-") as directory:
        material = Material(Path(directory))
        for number in range(options.first, options.first + options.cases):
            if time.monotonic() > end:
                print(f"ended by its time before case {options.seed}:{number}", flush=True)
                break
            case = draw_case(random.Random(f"{options.seed}:{number}"), material)
            if options.only not in (None, case["input"]):
                continue
            run[case["input"]] += 1
            if problem := outcome(case, material):
                causes[case["input"], problem] += 1
                if (case["input"], problem) not in examples:
                    examples[case["input"], problem] = case
                    print(
                        f"{options.seed}:{number} {case['input']} {case['verb'][0]}: {problem}",
                        flush=True,
                    )
    print("\ninput           cases  ungraceful")
    for kind, count in sorted(run.items()):
        print(f"{kind:<14} {count:>6} {sum(n for (of, _), n in causes.items() if of == kind):>11}")
    print(f"{'all':<14} {run.total():>6} {causes.total():>11}, of {len(causes)} causes")
    if options.keep:
        with CORPUS.open("a") as file:
            for case in examples.values():
                file.write(json.dumps(case) + "\n")
    sys.exit(1 if causes else 0)


if __name__ == "__main__":
    main()
