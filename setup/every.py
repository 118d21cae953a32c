"""Runs parts of the Makefile one after the other, also after one that failed, and names at the end
those that failed, with their tests:

    python3 setup/every.py PART… [--needing PART OTHER…]

The others run after the parts, and not at all if the part that they need has failed. The last line
counts all tests of all parts, those in Rust too. The exit code is 1 if anything failed.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

OUTCOMES = ("passed", "failed", "skipped")
PYTEST = re.compile(r"=* ?((?:\d+ [a-z]+,? ?)+) in [\d.]+s.*")
LIBTEST = re.compile(r"test result: \w+\. (\d+ passed); (\d+ failed);.*")
FAILED = re.compile(
    r"(?:FAILED|ERROR) (\S.*)|test (.+) \.\.\. FAILED.*|(\S+) --- FAILED| {4}(\w+(?:::\w+)+)"
)
MOST_LINES = 4
"""The largest number of lines that explain a failed test."""
SUMMARY = "What failed of the tests in Rust"
"""The first words of setup/rust-test-summary, after which tests stand a second time."""


def main() -> int:
    words = sys.argv[1:]
    end = words.index("--needing") if "--needing" in words else len(words)
    parts, (needed, *others) = words[:end], words[end + 1 :] or [""]
    counts: Counter[str] = Counter()
    failed = {part: tests for part in parts if (tests := run(part, counts)) is not None}
    if needed not in failed:
        failed |= {part: tests for part in others if (tests := run(part, counts)) is not None}
    print()
    for part, tests in failed.items():
        print(f"make {part}: failed")
        for test, explanation in tests.items():
            print("\n    ".join([f"  {test}", *explanation]))
    if needed in failed and others:
        print(f"not run, since they need `make {needed}`: {', '.join(others)}")
    print(f"parts: {len(parts) + len(others)}, of which failed: {', '.join(failed) or 'none'}")
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES), flush=True)
    return 1 if failed else 0


def run(part: str, counts: Counter[str]) -> dict[str, list[str]] | None:
    """Run a part and add its tests to `counts`. Return None if it succeeds, else the failed tests
    that it names, each with the first lines that explain it."""
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", part]
    tests: dict[str, list[str]] = {}
    explanation: list[str] | None = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as make:
        assert make.stdout is not None
        in_summary = False
        for line in echoed_lines(make.stdout.fileno()):
            in_summary |= line.startswith(SUMMARY)
            if match := FAILED.fullmatch(line):
                explanation = tests.setdefault(next(filter(None, match.groups())), [])
            elif not (in_summary or explanation is None) and line.startswith("    "):
                explanation += [line.strip()][: MOST_LINES - len(explanation)]
            else:
                explanation = None
            if not in_summary and (match := PYTEST.fullmatch(line) or LIBTEST.fullmatch(line)):
                for number, word in re.findall(r"(\d+) ([a-z]+)", " ".join(match.groups())):
                    counts["failed" if word.startswith("error") else word] += int(number)
    return tests if make.returncode else None


def echoed_lines(descriptor: int) -> Iterator[str]:
    """Yield the lines of a pipe, whose bytes are written to stdout as they come."""
    rest = b""
    while data := os.read(descriptor, 1 << 16):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        *lines, rest = (rest + data).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)
    yield rest.decode(errors="replace")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
