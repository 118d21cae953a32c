"""Inputs that would hang a verb, fill the memory or drive the terminal, and documents with fields
of wrong types."""

import json
import os
import sys

import pytest

from rmwbench.bundle import Bundle
from rmwbench.cli.crash_report import crash_message
from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input
from tests.badinput.conftest import SUITE
from tests.support import synthetic_bundle
from tests.support.command import rmwbench
from tests.support.program import run_program

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return synthetic_bundle.write(
        tmp_path_factory.mktemp("inputs") / "campaign", blocks=2, workloads=("imu",)
    )


@pytest.fixture
def damaged(whole, tmp_path):
    import shutil

    return shutil.copytree(whole, tmp_path / "campaign")


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "endless"])
def test_only_a_regular_file_of_bounded_size_is_read(tmp_path, kind):
    path = tmp_path / "input"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "directory":
        path.mkdir()
    else:
        path.write_bytes(b"0" * 1001)
    with pytest.raises(
        OSError, match=r"not a regular file|larger than 1000 bytes|[Ii]s a directory"
    ):
        read_input(path, 1000)


@pytest.mark.parametrize("name", ["campaign.json", "journal.jsonl", "tables/sent/000000.parquet"])
def test_a_pipe_in_a_campaign_is_refused_and_not_waited_for(user, damaged, name):
    (damaged / name).unlink()
    os.mkfifo(damaged / name)
    assert "not a regular file" in user.is_refused("show", damaged)


def test_a_pipe_or_a_device_as_suite_profile_or_trace_is_refused(user):
    os.mkfifo(user.path / "pipe.yaml")
    (user.path / "zero.yaml").symlink_to("/dev/zero")
    for name in ("pipe.yaml", "zero.yaml"):
        user.is_refused("plan", name)
    user.edit("middleware: fake}", "middleware: fake, profile: ./mine.xml}")
    os.mkfifo(user.path / "mine.xml")
    assert "not a regular file" in user.is_refused("plan", "mini.yaml")


CAMPAIGN = {
    ("plan",): [1, "text", [1]],
    ("plan", "comparisons"): [{}, "text", [1], [{"comparison": 1, "workload": "w", "cells": [0]}]],
    ("plan", "blocks"): [
        [],
        "text",
        {"count": "six"},
        {"count": -1},
        {"count": 10**30},
        {"looks": "text"},
    ],
    ("plan", "trials"): ["text", [[]], [{"cell": "a", "block": 0}]],
    ("plan", "unsupported"): [[1], [{"cell": 0}], [{"cell": 0, "reason": 7}]],
    ("plan", "suite"): ["text", {"title": ["a"]}],
    ("machine",): [
        "text",
        {"facts": "text"},
        {"facts": [{"name": 1}]},
        {"warnings": "text"},
        {"aa_floor": "wide"},
    ],
    ("middlewares",): ["text", [[]], [{"middleware": 1}]],
    ("suite",): ["text", {"name": 5}],
    ("campaign",): [7, {}],
    ("created_utc",): [7, []],
}


@pytest.mark.parametrize("place", CAMPAIGN, ids=".".join)
def test_a_field_of_campaign_json_of_another_type_is_named(damaged, place):
    path = damaged / "campaign.json"
    document = json.loads(path.read_text())
    *above, last = place
    for value in CAMPAIGN[place]:
        changed = json.loads(json.dumps(document))
        inner = changed
        for key in above:
            inner = inner[key]
        inner[last] = value
        path.write_text(json.dumps(changed))
        with pytest.raises(UserError) as error:
            Bundle(damaged)
        assert str(path) in str(error.value) and last in str(error.value.actual), value


@pytest.mark.parametrize(
    "line",
    [
        [],
        {},
        {"type": 7},
        {"type": "trial", "trial": "1", "cell": 0, "block": 0, "status": "done"},
        {"type": "trial", "trial": 10**30, "cell": 0, "block": 0, "status": "done"},
        {"type": "trial", "trial": 0, "cell": 0, "block": 0, "status": "fine"},
        {"type": "trial", "trial": 0, "cell": 0, "block": 0, "status": "done", "tables": "sent"},
        {"type": "merged", "merge": 0, "tables": {"sent": [[0]]}},
        {"type": "merged", "merge": 0, "tables": {"sent": [[5, 1]]}},
        {"type": "merged", "merge": 0, "tables": {"sent": [[0, 4000000000]]}},
        {"type": "tables", "tables": 5},
        {"type": "dropped", "blocks": "one", "cells": [0]},
        {"type": "look", "blocks": 1},
        {"type": "created", "resource": "host"},
        {"type": "unsupported", "cell": 0},
    ],
    ids=str,
)
def test_a_journal_line_of_another_shape_is_named(damaged, line):
    path = damaged / "journal.jsonl"
    path.write_text(json.dumps(line) + "\n" + path.read_text())
    with pytest.raises(UserError, match=r"journal.jsonl:1: unreadable journal line"):
        Bundle(damaged)


def test_a_column_of_another_type_is_named(damaged):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = damaged / "tables" / "received" / "000000.parquet"
    table = pq.read_table(path)
    at = table.column_names.index("taken_ns")
    pq.write_table(table.set_column(at, "taken_ns", table.column(at).cast(pa.string())), path)
    with pytest.raises(UserError, match=r"column taken_ns of a table is of another type"):
        Bundle(damaged).check()


def test_json_without_end_or_with_half_a_character_cannot_break_a_reader():
    with pytest.raises(ValueError, match="deep"):
        parse_json("[" * 100_000)
    read = parse_json(b'{"a\\ud800": ["\\udc80 b", "\\ud83d\\ude00"]}')
    assert read == {"a\ufffd": ["\ufffd b", "\U0001f600"]}


BOMB = "".join(
    f"  {name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    if before
    else f"  {name}: &{name} [1, 1, 1, 1, 1]\n"
    for before, name in zip(["", *"abcdefghi"], "abcdefghij", strict=True)
)


def test_an_alias_bomb_is_refused_at_once(user):
    user.suite.write_text("suite: bomb\ntitle:\n" + BOMB + SUITE.partition("title: a test\n")[2])
    assert "too large" in user.is_refused("plan", "mini.yaml")


def test_more_arms_than_any_campaign_has_are_refused_at_once(user):
    for number, says in ((20_000, "it is larger than"), (2_000, "too many arms")):
        arms = "".join(f"  - {{name: a{n}, middleware: fake}}\n" for n in range(number))
        user.suite.write_text(SUITE.replace("  - {name: one, middleware: fake}\n", arms))
        assert says in user.is_refused("plan", "mini.yaml")


def test_control_codes_of_others_do_not_reach_the_terminal(user, damaged):
    user.suite.write_text(SUITE.replace("title: a test", f"title: {json.dumps(ESCAPE)}"))
    path = damaged / "campaign.json"
    document = json.loads(path.read_text())
    document["plan"]["suite"]["title"] = document["campaign"] = ESCAPE
    document["machine"]["warnings"] = [ESCAPE]
    path.write_text(json.dumps(document))
    odd = user.path / "\x1b[31mred"
    odd.mkdir()
    for arguments in (
        ("plan", "mini.yaml"),
        ("plan", "mini.yaml", "--json"),
        ("show", damaged),
        ("show", damaged, "--json"),
        ("show", odd),
        ("query", "select chr(27) || '[2J' as a, chr(155) as \"b\x1b\"", damaged),
        ("plan", ESCAPE),
    ):
        done = user.types(*arguments)
        assert not set("\x1b\x07\x9b") & set(done.stdout + done.stderr), arguments


def test_a_directory_whose_name_is_not_text_is_refused_with_the_reason(damaged, tmp_path):
    odd = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.rename(damaged, odd)
    for verb in (
        ["show"],
        ["show", "--json"],
        ["report"],
        ["query", "select count(*) from sent"],
        ["explain"],
    ):
        done = rmwbench(*verb, odd, text=False)
        assert done.returncode == 2 and b"not UTF-8" in done.stderr and b"rename" in done.stderr, (
            verb,
            done.stderr,
        )


def test_a_table_shows_what_a_person_can_read_and_says_how_many_rows_there_are(damaged):
    done = rmwbench("query", "from range(250_000)", damaged)
    assert done.returncode == 0 and len(done.stdout.splitlines()) < 110
    assert "the first 100 of 250000 rows" in done.stdout
    every = rmwbench("query", "from range(250)", damaged, "--csv")
    assert len(every.stdout.splitlines()) == 251


def test_an_interrupt_ends_a_query_while_it_is_worked_on(damaged):
    """The query would take hours, so its end is the proof."""
    program = (
        "import os, signal, threading, rmwbench.bundle.sql as query\n"
        "from rmwbench.cli.main import main\n"
        "answer = query._answer\n"
        "def begun(*given):\n"
        "    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    return answer(*given)\n"
        "query._answer = begun\n"
        "main(['query', 'select count(*) from range(10000000) a, range(10000000) b', "
        f"{str(damaged)!r}])"
    )
    done = run_program(sys.executable, "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_mistake_of_ours_ends_with_2_and_a_file_with_its_details(tmp_path):
    program = (
        "import rmwbench.suite.file.suite_files as places\n"
        "def read(*_): raise TypeError('nobody foresaw\\x1b[2J this')\n"
        "places.read = read\n"
        "from rmwbench.cli.main import main; main(['plan', 'quick'])"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = run_program(sys.executable, "-c", program, env=environment)
    assert done.returncode == 2 and done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first.startswith("error: ") and "TypeError: nobody foresaw" in first
    assert "\x1b" not in first
    details = next((tmp_path / "rmwbench" / "mistakes").iterdir())
    assert second.endswith(str(details)) and "Traceback" in details.read_text()


def test_a_mistake_of_ours_in_a_deleted_working_directory_is_reported_as_well(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "ended this command: TypeError: nobody foresaw this" in crash_message(
        TypeError("nobody foresaw this")
    )
    (details,) = (tmp_path / "rmwbench" / "mistakes").iterdir()
    assert "in a working directory that cannot be read: No such file" in details.read_text()
