"""What stands at the place of an output is never destroyed, and an output that cannot be written is
one clear error."""

import errno
import json
import os
import shutil
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from rmwbench import whole_file
from rmwbench.errors import UserError
from rmwbench.whole_file import check_page, durable_file, make_directory, write_whole
from tests.badinput.conftest import private_mounts
from tests.support import command, synthetic_bundle
from tests.support.command import COMMAND

VERBS = {
    "report": ["report", "campaign", "--out"],
    "compare": ["compare", "campaign", "newer", "--out"],
    "compare --html": ["compare", "campaign", "newer", "--html"],
    "claims": ["published", "claims", "gscam-2025", "--no-shipped", "--out"],
    "questionnaire": ["published", "questionnaire", "--question", "audit", "--out"],
    "figures": ["published", "figures", "gscam-2025", "--no-shipped", "-o"],
    "decide": ["decide", "campaign", "--limits", "limits.yaml", "--out"],
    "community": ["published", "community", "admission", "--out"],
    "community --report": ["published", "community", "admission", "--report"],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    path = tmp_path_factory.mktemp("place")
    synthetic_bundle.write(path / "campaign", blocks=2, workloads=("imu",))
    synthetic_bundle.write(path / "newer", blocks=2, workloads=("imu",), seed=8)
    limits = "limits: mine\nacceptable: {response_latency_p50_ms: 1000}\nof: {workload: imu}\n"
    (path / "limits.yaml").write_text(limits)
    return path


def rmwbench(place, *arguments, **options):
    return command.rmwbench(*arguments, cwd=place, text=False, **options)


def is_refused(done):
    error = done.stderr.decode()
    assert done.returncode == 2, (done.returncode, error)
    assert (
        error.startswith("error: ") and error.count("error: ") == 1 and "Traceback" not in error
    ), error
    assert "  do: " in error
    return error


@pytest.mark.parametrize("verb", VERBS)
def test_a_symbolic_link_stays_one_and_its_file_is_written(place, tmp_path, verb):
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    real.write_text("before")
    link.symlink_to(real)
    done = rmwbench(place, *VERBS[verb], link)
    assert done.returncode in (0, 1, 2) and not done.stderr, done.stderr
    assert link.is_symlink() and b"<html" in real.read_bytes()
    assert not list(tmp_path.rglob("*partial*"))


def test_a_report_that_nothing_opens_is_written_and_that_is_said(place, tmp_path):
    page, environment = tmp_path / "r.html", {**os.environ, "PATH": "/nowhere"}
    done = rmwbench(place, *VERBS["report"], page, "--open", env=environment)
    assert done.returncode == 0 and page.is_file()
    assert b"no xdg-open" in done.stderr


@pytest.mark.parametrize("verb", ["report", "claims", "figures", "community"])
def test_a_pipe_gets_the_page_and_stays_a_pipe(place, tmp_path, verb):
    fifo, read = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    done = rmwbench(place, *VERBS[verb], fifo)
    reader.join(timeout=300)
    assert done.returncode == 0, done.stderr
    assert b"</html>" in read[0] and stat.S_ISFIFO(fifo.lstat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


def test_stdout_as_a_place_gets_the_page_alone(place, tmp_path):
    with open(tmp_path / "page.html", "w+b") as file:
        done = rmwbench(place, *VERBS["report"], "/dev/stdout", stdout=file.fileno())
    text = (tmp_path / "page.html").read_text()
    assert done.returncode == 0 and text.startswith("<!doctype")
    assert text.rstrip().endswith("</html>")


@pytest.mark.parametrize("verb", ["compare", "decide", "figures", "community"])
def test_a_document_is_alone_on_stdout_also_beside_a_page(place, tmp_path, verb):
    """`figures --json -o FILE` printed the path of the page before the document."""
    page = tmp_path / "page.html"
    done = rmwbench(place, *VERBS[verb], page, "--json")
    assert json.loads(done.stdout) and b"<html" in page.read_bytes()


@pytest.mark.parametrize("verb", ["compare", "claims", "decide", "community"])
def test_a_file_that_ends_in_md_gets_markdown(place, tmp_path, verb):
    """It got HTML."""
    page = tmp_path / "page.md"
    rmwbench(place, *VERBS[verb], page)
    text = page.read_text()
    assert text.startswith("# ") and "<html" not in text


@pytest.mark.parametrize("verb", VERBS)
def test_a_format_that_is_not_made_is_refused(place, tmp_path, verb):
    error = is_refused(rmwbench(place, *VERBS[verb], tmp_path / "page.pdf"))
    assert "no PDF is made here" in error and not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", VERBS)
def test_a_disk_that_is_full_leaves_what_was_there(place, tmp_path, verb):
    """The limit on a file's size is what a small disk is to a page."""
    page = tmp_path / "page.html"
    page.write_text("before")
    error = is_refused(rmwbench(place, *VERBS[verb], page, most_file_bytes=1_000))
    assert "page.html" in error and "File too large" in error
    assert page.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.long
def test_a_full_file_system_is_one_error_in_every_verb_that_writes(place, tmp_path):
    for name in ("campaign", "newer"):
        shutil.copytree(place / name, tmp_path / name)
    program = """
    mkdir small && mount -t tmpfs -o size=16k tmpfs small
    for verb in 'report campaign --out small/a.html' 'report campaign --format markdown --out small/a.md' \
        'compare campaign newer --out small/a.html' 'claims gscam-2025 --out small/a.html' \
        'figures gscam-2025 --pictures small/pictures' 'community admission --out small/a.html'; do
      "$@" $verb >/dev/null 2>error; echo "$? $(grep -c ^error: error) $(grep -c Traceback error)"
      find small -name '*partial*'
      rm -rf small/*
    done
    """
    words = [*private_mounts(), "sh", "-c", program, "sh", *COMMAND]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.stdout.splitlines() == ["2 1 0"] * 6, (done.stdout, done.stderr)


@pytest.mark.parametrize(
    "verb",
    [["plan", "quick"], ["show", "campaign", "--json"], ["published", "claims"], ["--version"]],
)
def test_a_full_stdout_is_one_error(place, verb):
    with open("/dev/full", "w") as full:
        done = rmwbench(place, *verb, stdout=full.fileno())
    assert (
        done.returncode == 2 and done.stderr.count(b"error: ") == 1 and b"stdout" in done.stderr
    ), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_not_a_crash_and_lend_no_file_their_number(
    place, tmp_path, closed
):
    page = tmp_path / "page.html"
    done = rmwbench(place, "report", "campaign", "--out", page)
    whole = page.read_bytes()
    shell = f'exec "$@" {closed}'
    arguments = [*COMMAND, "report", "campaign", "--out", str(page)]
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *arguments], cwd=place, capture_output=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, b"") and len(page.read_bytes()) == len(whole)


@pytest.mark.long
@pytest.mark.parametrize(
    "verb",
    [
        ["show", "campaign"],
        ["plan", "quick"],
        ["published", "claims"],
        ["published", "questionnaire"],
    ],
)
def test_a_terminal_that_knows_ascii_only_gets_the_answer(place, verb):
    ascii_only = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii",
    }
    # the encoding of its streams is what Python decides when it starts
    done = subprocess.run(
        [*COMMAND, *verb], cwd=place, capture_output=True, timeout=120, env=ascii_only
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and b"\\u2013" not in done.stdout and b"\\xd7" not in done.stdout


def test_the_mode_of_a_file_stays_and_a_new_one_has_that_of_any_other(tmp_path):
    kept, plain, written = tmp_path / "kept", tmp_path / "plain", tmp_path / "written"
    kept.write_text("a")
    kept.chmod(0o640)
    write_whole(kept, "b")
    plain.write_text("a")
    write_whole(written, "b")
    assert kept.read_text() == "b" and stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert written.stat().st_mode == plain.stat().st_mode


def test_what_cannot_be_written_is_known_before(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (
        tmp_path,
        tmp_path / "none" / "a.html",
        tmp_path / "loop",
        tmp_path / ("n" * 300),
        "nul\0",
    ):
        with pytest.raises(UserError):
            check_page(path)
    (tmp_path / "leads").symlink_to(tmp_path / "new.html")
    write_whole(tmp_path / "leads", "text \udc80")
    assert (tmp_path / "new.html").read_text() == "text \\udc80"
    assert (tmp_path / "leads").is_symlink()


@pytest.mark.parametrize(
    ("page_format", "name"), [("HTML", "report.html"), ("Markdown", "report.md")]
)
def test_another_name_is_advised_in_the_same_directory(page_format, name):
    with pytest.raises(UserError) as refused:
        check_page("out/report.pdf", page_format)
    assert refused.value.fix == f"name it out/{name}"


def test_the_advised_command_makes_one_directory(tmp_path):
    """`mkdir -p my pages` makes two."""
    with pytest.raises(UserError) as refused:
        check_page(tmp_path / "my pages" / "report.html")
    assert refused.value.fix == f"mkdir -p '{tmp_path}/my pages'"


def test_only_a_full_disk_is_told_to_make_room(tmp_path, monkeypatch):
    with pytest.raises(UserError) as refused:
        make_directory(Path("/proc/xx/y"))
    assert refused.value.fix == "name another directory"

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(whole_file.os, "write", full)
    with pytest.raises(UserError) as refused:
        write_whole(tmp_path / "page.html", "page")
    assert refused.value.fix == "make room there, or name another file"
    with pytest.raises(UserError) as refused, durable_file(tmp_path / "plan.json"):
        raise OSError(errno.EACCES, "Permission denied")
    assert refused.value.fix == "give access there"
