"""Every command that docs/findings.md gives as evidence is run as it stands, into a pipe, and says
something.

Left out are those that measure (`run`, `claims run`), that need a campaign of one's own
(`explain`), and the patterns of the first paragraphs (SOURCE, PATH). Commands on published data
skip where it does not lie beside the checkout.
"""

import contextlib
import functools
import io
import os
import re
import shlex
import tempfile
from pathlib import Path

import pytest

from rmwbench.cli.main import main
from tests.published.importers import original
from tests.support.command import rmwbench
from tests.support.program import run_program

PAGE = Path(__file__).parents[1] / "docs/findings.md"
COMMANDS = list(
    dict.fromkeys(
        " ".join(found.split())
        for found in re.findall(r"`(rmwbench [^`]+)`", PAGE.read_text(encoding="utf-8"))
    )
)
"""Without the ends of lines, at which a page may be wrapped."""
ELSEWHERE = re.compile(
    r"rmwbench (run|published claims run|explain)\b|rmwbench published \S+ (SOURCE|PATH)\b"
)
DATA = {
    "2020-10-23_10-47-36.tar.gz": (
        "tsc-galactic-2020",
        "mininet_experiments",
        "2020-10-23_10-47-36.tar.gz",
    ),
    "DIR/build_farm": ("tsc-galactic-2020", "build_farm"),
    "DIR/cyclonedds_report_tables": ("tsc-humble-2021", "cyclonedds_report_tables"),
}
RUN = [command for command in COMMANDS if not ELSEWHERE.match(command)]


@functools.cache
def piped(command: str) -> tuple[int, str]:
    """Exit code and stdout of a command, which is not a terminal, in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="rmwbench-findings-") as place:
        # Charts need seconds to load, once per process: those that draw run in this one.
        done = (
            _here(command, place)
            if command.startswith("rmwbench published figures")
            else _typed(command, place)
        )
        written = [page.stat().st_size for page in Path(place).glob("*.html")]
    assert all(size > 10_000 for size in written), "an empty page"
    assert ("-o page.html" in command) == bool(written)
    return done


def _here(command: str, place: str) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
        main(shlex.split(command)[1:])
    return end.value.code or 0, out.getvalue()


def _typed(command: str, place: str) -> tuple[int, str]:
    bare = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = rmwbench(*shlex.split(command)[1:], cwd=place, env=bare)
    return done.returncode, done.stdout + done.stderr * (done.returncode != 0)


def test_the_page_has_commands():
    assert len(RUN) >= 18, COMMANDS
    assert {name for name in DATA if any(name in command for command in RUN)} == set(DATA)


@pytest.mark.long
@pytest.mark.parametrize("command", RUN)
def test_a_command_says_something(command):
    program, _, rest = command.partition(" | ")
    for name, parts in DATA.items():
        if name in program:
            program = program.replace(name, f"'{original.path(*parts)}'")
    # What is imported twice is imported once: only the search differs.
    code, out = piped(program)
    assert code == 0, out
    assert out.strip()
    if rest:
        found = run_program("bash", "-c", rest, input=out)
        assert found.returncode == 0, f"{rest}: nothing in {len(out.splitlines())} lines"
        assert found.stdout.strip()


def test_a_point_is_a_line_and_nothing_is_cut():
    code, out = piped(
        f"rmwbench published import '{original.path(*DATA['DIR/build_farm'])}' --figures"
    )
    assert code == 0
    lines = out.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("figure  "))
    points = lines[begin + 1 : lines.index("", begin)]
    (told,) = (int(found) for found in re.findall(r"(\d+) figure points", out))
    assert len(points) == told > 100
    assert all(re.match(r"[a-z_0-9]+ {2,}\S", line) for line in points) and "…" not in "".join(
        points
    )
