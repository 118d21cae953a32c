"""The bench driver: verdicts, lines, and what happens to programs that misbehave. The programs
themselves are timed by `make bench` and by nothing here."""

import json
import sys
from pathlib import Path

import pytest

from bench import metrics, table, verbs
from bench.programs import Crashed, run
from bench.ratio import KEYS, line, until_decided, verdict

ROOT = Path(__file__).resolve().parents[1]


ABOUT = {
    "bench": "b",
    "name": "x / y",
    "message_bytes": 64,
    "metric": "time",
    "unit": "s",
    "details": {},
}


def a_line(**changes):
    return {**line(**ABOUT, limit=(0.95, 1.05), ours=[1.0] * 8, theirs=[1.0] * 8), **changes}


@pytest.mark.parametrize(
    ("low", "high", "limit", "expected"),
    [
        (0.96, 1.04, [0.95, 1.05], "met"),
        (0.95, 1.05, [0.95, 1.05], "met"),
        (0.96, 1.06, [0.95, 1.05], "undecided"),
        (0.90, 1.10, [0.95, 1.05], "undecided"),
        (1.06, 1.10, [0.95, 1.05], "not met"),
        (0.80, 0.90, [0.95, 1.05], "not met"),
        (0.10, 0.90, [None, 1.0], "met"),
        (1.01, 9.00, [None, 1.0], "not met"),
        (1.01, 9.00, [1.0, None], "met"),
        (0.99, 9.00, [1.0, None], "undecided"),
        (None, None, [None, 5.0], "undecided"),
        (0.50, 0.60, None, "no promise"),
        (1.00, None, [None, 5.0], "undecided"),  # the upper end never came
        (6.00, None, [None, 5.0], "not met"),
    ],
)
def test_the_interval_decides(low, high, limit, expected):
    assert verdict(a_line(low=low, high=high, limit=limit)) == expected


def test_messages_that_never_arrived_do_not_keep_a_promise():
    """It was undecided, though every pair was infinite."""
    never = a_line(ratio=None, low=None, high=None)
    assert verdict(never) == "not met" and table.ratio(never) == "∞ [∞–∞]"
    assert verdict(never | {"pairs": 7}) == "undecided"


def test_a_known_ratio_comes_back_with_its_interval():
    theirs = [float(n) for n in range(1, 22)]
    ours = [t * (1 + i / 100) for i, t in enumerate(theirs)]
    found = line(**ABOUT, limit=None, ours=ours, theirs=theirs)
    assert (found["ratio"], found["low"], found["high"]) == pytest.approx((1.10, 1.04, 1.16))
    assert tuple(found) == KEYS
    seven = line(**ABOUT, limit=None, ours=[2.0] * 7, theirs=[1.0] * 7)
    assert (seven["ratio"], seven["low"], seven["high"]) == (2.0, None, None)


@pytest.mark.parametrize(
    ("ratios", "limit", "pairs", "expected"),
    [
        (lambda _: 2.0, (None, 5.0), 8, "met"),
        (lambda n: 0.9 if n < 8 or n % 9 else 1.1, (0.85, 0.95), 8, "met"),
        # An outlier among the first eight leaves it open, and twice as many decide it.
        (lambda n: 9.0 if n == 3 else 2.0, (None, 5.0), 16, "met"),
        (lambda n: 9.0 if n % 2 else 2.0, (None, 5.0), 64, "undecided"),
        (lambda n: 9.0 if n % 2 else 2.0, None, 8, "no promise"),
    ],
)
def test_what_is_open_gets_as_many_pairs_again(ratios, limit, pairs, expected):
    found = []

    def pair(number):
        found.append(ratios(number))
        return "said"

    def lines():
        return [line(**ABOUT, limit=limit, ours=found, theirs=[1.0] * len(found))]

    [result] = until_decided(8, pair, lines)
    assert (len(found), result["pairs"], verdict(result)) == (pairs, pairs, expected)


def test_every_key_is_documented():
    text = (ROOT / "docs/benchmarks.md").read_text()
    assert [key for key in KEYS if f"`{key}`" not in text] == []


def python(code):
    return [sys.executable, "-c", code]


def test_lines_are_handed_over_as_they_come_and_those_before_a_crash_are_kept():
    seen = []
    good = json.dumps(a_line())
    run(python(f"print({good!r}); print({good!r})"), seen.append, 30)
    assert seen == [a_line(), a_line()]
    with pytest.raises(Crashed, match="status 3"):
        run(python(f"print({good!r}, flush=True); raise SystemExit(3)"), seen.append, 30)
    assert len(seen) == 3
    with pytest.raises(Crashed, match="signal 9"):
        run(python("import os; os.kill(os.getpid(), 9)"), seen.append, 30)


@pytest.mark.parametrize("text", ["not json", "[]", "3", '{"bench": "b"}'])
def test_what_is_not_a_line_is_a_crash(text):
    with pytest.raises(Crashed, match="printed"):
        run(python(f"print({text!r})"), lambda _: None, 30)


def test_a_program_that_hangs_is_ended():
    with pytest.raises(Crashed, match=r"within 0\.5 s"):
        run(python("import time; time.sleep(60)"), lambda _: None, deadline_s=0.5)


@pytest.fixture
def one_look(monkeypatch):
    monkeypatch.setattr("bench.ratio.LOOKS", 1)


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory):
    """To compile all that a verb imports takes longer than the verb."""
    return tmp_path_factory.mktemp("bytecode")


def test_metrics_are_timed_on_a_real_bundle(tmp_path, one_look):
    metrics.generate(tmp_path / "bundle", 5_000)
    time, memory = metrics.compare(tmp_path / "bundle", 5_000, pairs=1)
    assert tuple(time) == tuple(memory) == KEYS
    assert time["ours"] > 0 and time["theirs"] > 0 and time["limit"] == [None, 13.0]
    # one pair has no interval
    assert 10e6 < memory["ours"] < 2e9 and verdict(memory) == "undecided"


@pytest.mark.long
def test_verbs_are_timed_on_a_real_campaign(tmp_path, bytecode, one_look):
    directory = verbs.campaign(tmp_path / "campaign", blocks=2)
    show = next(verb for verb in verbs.VERBS if "show" in verb.arguments)
    found = verbs.measure(show, directory, bytecode, pairs=1)
    assert tuple(found) == KEYS and found["ratio"] > 1
    assert verdict(found) == "undecided"  # one pair has no interval


def test_the_table_shows_every_line_and_every_crash():
    from rich.console import Console

    late = a_line(low=1.0, high=None, ratio=None, note="nothing came")
    results = [
        {**found, "verdict": verdict(found)} for found in (a_line(message_bytes=6_220_800), late)
    ]
    card = {"summary": "2 × a processor", "warnings": ["something else runs"]}
    document = {
        "machine": card,
        "load_average": {"begin": 1.0, "end": 2.0},
        "results": results,
        "crashed": [{"bench": "zenoh", "problem": "killed by signal 9"}],
        "interrupted": True,
    }
    console = Console(width=180, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    table.render(document, console)
    text = console.export_text()
    shown = (
        "something else runs",
        "6.22 MB",
        "1.00 [1.00–1.00]",
        "∞ [1.00–∞]",
        "nothing came",
        "signal 9",
        "the rest was not",
        "0.95–1.05",
    )
    assert [expected for expected in shown if expected not in text] == [], text
