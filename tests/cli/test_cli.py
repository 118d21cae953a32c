"""The command line as a user meets it: a process, its exit code, its two streams."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from rmwbench.cli.main import EARLIER_NAMES, VERBS, _broken_pipe_code
from rmwbench.cli.options import parse_duration_s
from rmwbench.errors import UserError
from tests.lab import fake_worker
from tests.published.importers.logs import Second, text_2020
from tests.support import synthetic_bundle
from tests.support.command import COMMAND, rmwbench
from tests.support.program import run_program


def imported_by(*words):
    """What `rmwbench WORDS` prints in a new interpreter, and the modules that are loaded at its
    end. Start-up is much of what a verb takes, and a loaded machine cannot be timed."""
    done = run_program(
        sys.executable,
        "-c",
        f"import sys\nfrom rmwbench.cli.main import main\ntry: main({list(words)!r})\n"
        "except SystemExit: pass\nprint('modules:', *sys.modules)",
    )
    assert not done.stderr
    printed, _, modules = done.stdout.rpartition("modules: ")
    return printed, set(modules.split())


@pytest.mark.parametrize("command", [COMMAND, [sys.executable, "-m", "rmwbench"]])
def test_version(command):
    done = run_program(*command, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("rmwbench ")


def test_help_names_the_verbs_without_importing_what_they_need():
    """Half a second is the promise."""
    heavy = {"pyarrow", "altair", "duckdb", "scipy", "numpy", "pydantic", "ruamel", "jinja2"}
    printed, modules = imported_by("--help")
    assert "plan" in printed
    assert not modules & (heavy | {"rich", "pygments"})


def test_help_has_every_verb_in_its_order_with_a_whole_sentence():
    listed = rmwbench("--help").stdout.partition("Commands:")[2]
    assert re.findall(r"^  (\w+) ", listed, re.MULTILINE) == list(VERBS)
    assert "..." not in listed
    assert (
        "..." not in rmwbench("published", "community", "--help").stdout.partition("Commands:")[2]
    )


@pytest.mark.parametrize(("earlier", "today"), EARLIER_NAMES.items())
def test_an_earlier_name_runs_the_verb_of_today_and_names_it(earlier, today):
    old, new = (rmwbench(*words.split(), "--help") for words in (earlier, today))
    assert (old.returncode, old.stdout) == (0, new.stdout)
    assert (old.stderr, new.stderr) == (f"`{earlier}` is now `rmwbench {today}`\n", "")
    assert f"\n  {earlier} " not in rmwbench("--help").stdout


@pytest.mark.parametrize(
    "verb", ["", "run", "published claims", "published claims run", "middlewares show"]
)
def test_the_short_option_for_help_is_taken_by_every_verb(verb):
    short, long = (rmwbench(*verb.split(), word) for word in ("-h", "--help"))
    assert short.returncode == 0 and short.stdout == long.stdout and "-h" in short.stdout


def test_profiles_are_printed_as_a_middleware_gets_them(tmp_path):
    """Each with its name and what it is for, or one of them to go into a file."""
    text = "<one>\n  <!-- `rmwbench run` -->\n</one>"
    profiles = [
        {"name": "mine", "format": "xml", "text": text, "summary": "my own"},
        {"name": "untouched", "format": "none", "text": ""},
    ]
    fake_worker.install(tmp_path, describe={"profiles": profiles})
    environment = {**os.environ, "RMWBENCH_WORKERS": str(tmp_path)}
    every = rmwbench("middlewares", "profile", "fake", env=environment)
    assert every.stdout == f"=== mine (xml) my own\n{text}\n=== untouched (none)\n\n"
    mine = rmwbench("middlewares", "profile", "fake", "mine", env=environment)
    assert mine.returncode == 0 and mine.stdout == f"{text}\n"
    other = rmwbench("middlewares", "profile", "fake", "mein", env=environment)
    assert other.returncode == 2 and "did you mean 'mine'?" in other.stderr


def test_a_verb_waits_for_no_other():
    printed, modules = imported_by("types", "--help")
    assert "message types" in printed
    ours = {name for name in modules if name.startswith("rmwbench.")}
    assert not [name for name in ours if name.endswith((".show", ".capacity"))]


def test_an_import_waits_for_nothing_that_it_does_not_need(tmp_path):
    """The archive of 2 700 logs in 3 s is the promise (`python -m bench import`). ruamel reads what
    is known of an original."""
    log = tmp_path / "log"
    log.write_text(text_2020([Second(30)] * 4, publishers=1, subscribers=0))
    heavy = {"altair", "duckdb", "scipy", "pandas", "polars", "matplotlib", "jinja2", "pyroute2"}
    printed, modules = imported_by(
        "published", "import", str(log), "--out", str(tmp_path / "bundle")
    )
    assert "imported from log" in printed
    assert not modules & heavy
    assert not [name for name in modules if name.startswith("rmwbench.campaign")]


@pytest.mark.long
@pytest.mark.parametrize("verb", ["claims", "show", "report"])
def test_an_answer_waits_for_nothing_that_it_does_not_need(verb, tmp_path):
    """`python -m bench verbs`. What reads suites is for claims, charts are for a report; the campaign
    is of no published evaluation."""
    campaign = synthetic_bundle.write(tmp_path / "c", blocks=2, workloads=("camera",))
    arguments = {
        "claims": ["published", "claims"],
        "show": ["show", str(campaign)],
        "report": ["report", str(campaign), "-o", str(tmp_path / "r.html")],
    }[verb]
    needless = {
        "claims": ("pyarrow", "altair", "rmwbench.results.show_model", "rmwbench.lab"),
        "show": ("altair", "jinja2", "ruamel.yaml", "rmwbench.suite.suite", *NOT_SHOWN),
        "report": ("ruamel.yaml", "rmwbench.suite.suite", *NOT_SHOWN),
    }[verb] + ("duckdb", "scipy.stats", "scipy.optimize", "rmwbench.campaign")
    assert not set(needless) & imported_by(*arguments)[1]


NOT_SHOWN = ("rmwbench.published.claims.claims_file", "rmwbench.results.capacity.capacity_document")
"""Of what `show` and `report` need for other campaigns only."""


@pytest.mark.own_host
def test_plan_prints_what_would_run():
    done = rmwbench("plan", "quick", env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr
    for words in (
        "45 cells",
        "900 trials",
        "5.33 min",
        "by the clock",
        "camera",
        "p50 [p90]",
        "block ratios scatter by 0.1",
        "iceoryx2 event",
    ):
        assert words in done.stdout


def plan_without_ratios(suite, text):
    """What `plan` prints of this suite; its document promises no ratio."""
    suite.write_text(text)
    done = rmwbench("plan", str(suite))
    assert done.returncode == 0, done.stderr
    document = json.loads(rmwbench("plan", str(suite), "--json").stdout)
    assert {
        resolution["resolvable_ratio"]
        for comparison in document["comparisons"]
        for resolution in comparison["resolution"]
    } == {None}
    return done.stdout


def test_a_plan_that_can_decide_nothing_says_so_and_promises_no_ratio(tmp_path):
    printed = plan_without_ratios(
        tmp_path / "two.yaml",
        "suite: two\ntitle: two blocks\nblocks: {planned: 2, minimum: 2}\ntimeline: {steady_s: "
        "1.0}\n"
        "arms: [{name: a, middleware: synthetic}, {name: b, middleware: synthetic}]\n"
        "workloads: [{name: w, message: Bytes(64), rate_hz: 100}]\n",
    )
    assert "nothing is decided" in printed
    assert "for a verdict" not in printed and "×" not in printed


def test_a_plan_of_one_arm_promises_no_difference_between_arms(tmp_path):
    printed = plan_without_ratios(
        tmp_path / "alone.yaml",
        "suite: alone\ntitle: one arm\nblocks: {planned: 6, minimum: 6}\ntimeline: {steady_s: "
        "1.0}\n"
        "arms: [{name: a, middleware: synthetic}]\n"
        "factors: {rate_hz: [50, 100]}\n"
        "workloads: [{name: w, message: Bytes(64), rate_hz: 50}]\n",
    )
    assert "contender" not in printed and "×" not in printed


@pytest.mark.own_host
def test_plan_as_json_is_one_document():
    done = rmwbench("plan", "quick", "--json", "--budget", "5m", "--seed", "3")
    document = json.loads(done.stdout)
    assert (document["seed"], document["blocks"]["count"], document["budget_s"]) == (3, 20, 300)


@pytest.mark.long
@pytest.mark.parametrize(
    ("verb", "code"), [(("plan", "quick"), 0), (("plan", "quick", "--json"), 0), (("doctor",), 2)]
)
def test_a_reader_that_left_early_never_reads_no(verb, code):
    """`rmwbench doctor | head -1` under pipefail: exit code 1 would say that something is red."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, *verb], stdout=write, stderr=subprocess.PIPE, text=True, timeout=300
        )
    finally:
        os.close(write)
    assert done.returncode == code
    assert "rror" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["middlewares", "build", "floor"], 2),
        (["published", "claims", "run"], 2),
        (["published", "claims"], 0),
        (["middlewares"], 0),
    ],
)
def test_an_answer_that_was_not_given_is_not_a_yes(arguments, code):
    assert _broken_pipe_code(arguments) == code


def test_a_closed_stdout_is_not_a_crash():
    done = run_program("sh", "-c", '"$@" >&-', "sh", *COMMAND, "--version")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "quick", "--budget", "2s"],
        ["plan", "quick", "--budget", "5"],
        ["plan"],
        ["plna", "quick"],
        ["plan", "quick", "--jsn"],
    ],
)
def test_misuse_exits_2_and_explains(arguments):
    done = rmwbench(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_not_an_error():
    """The plan of 600 blocks is larger than a pipe holds, so the writer is stopped in the
    middle."""
    command = [*COMMAND, "plan", "quick", "--json", "--budget", "8h"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(100)
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0 and b"rror" not in errors


def test_an_interrupt_exits_130():
    program = (
        "import os, signal, rmwbench.suite.file.suite_files as places\n"
        "places.read = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "from rmwbench.cli.main import main; main(['plan', 'quick'])"
    )
    done = run_program(sys.executable, "-c", program)
    assert done.returncode == 128 + signal.SIGINT
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("5m", 300), ("5min", 300), ("1h30m", 5400), ("1.5h", 5400), (" 2 m ", 120)],
)
def test_times_with_units(text, seconds):
    assert parse_duration_s(text) == seconds


def test_a_wrong_time_is_refused_in_the_name_of_its_own_option():
    """`twin --for 5` complained about --budget, which it does not have."""
    done = rmwbench("twin", "bag", "--for", "5")
    assert done.returncode == 2 and "--for: `5` is not a valid time" in done.stderr


@pytest.mark.parametrize("text", ["", "5", "m", "5x", "-5m", "5m!", "0s", "1e3s", "5mm"])
def test_times_without_sense(text):
    with pytest.raises(UserError):
        parse_duration_s(text)
