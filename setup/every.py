"""Runs parts of the Makefile one after the other, whatever becomes of those before it, and says at
the end which of them failed, and which tests:

    python3 setup/every.py PART… [--needing PART OTHER…]

The others run after the parts, and not at all where the part that they need has failed. The last
line has all tests of all parts, those in Rust too. Ends with 1 where anything failed.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

COUNTED = ("passed", "failed", "skipped")
PYTEST = re.compile(r"=* ?((?:\d+ [a-z]+,? ?)+) in [\d.]+s.*")
LIBTEST = re.compile(r"test result: \w+\. (\d+ passed); (\d+ failed);.*")
FAILED = re.compile(
    r"(?:FAILED|ERROR) (\S.*)|test (.+) \.\.\. FAILED.*|(\S+) --- FAILED| {4}(\w+(?:::\w+)+)"
)
MOST_EXPLAINED = 4
AGAIN = "What failed of the tests in Rust"
"""How setup/rust-test-summary begins to repeat what has been counted."""


def main() -> int:
    asked = sys.argv[1:]
    end = asked.index("--needing") if "--needing" in asked else len(asked)
    parts, (needed, *others) = asked[:end], asked[end + 1 :] or [""]
    counts: Counter[str] = Counter()
    failed = {part: names for part in parts if (names := ran(part, counts)) is not None}
    if needed not in failed:
        failed |= {part: names for part in others if (names := ran(part, counts)) is not None}
    print()
    for part, names in failed.items():
        print(f"make {part}: failed")
        for name, explained in names.items():
            print("\n    ".join([f"  {name}", *explained]))
    if needed in failed and others:
        print(f"not run, since they need `make {needed}`: {', '.join(others)}")
    print(f"parts: {len(parts) + len(others)}, of which failed: {', '.join(failed) or 'none'}")
    print(", ".join(f"{counts[one]} {one}" for one in COUNTED), flush=True)
    return 1 if failed else 0


def ran(part: str, counts: Counter[str]) -> dict[str, list[str]] | None:
    """None where it went well; else the tests that failed, where it says which, each with the
    first lines that explain it. Adds to `counts` what it counted."""
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", part]
    names: dict[str, list[str]] = {}
    explained: list[str] | None = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as made:
        assert made.stdout is not None
        again = False
        for line in shown(made.stdout.fileno()):
            again |= line.startswith(AGAIN)
            if match := FAILED.fullmatch(line):
                explained = names.setdefault(next(filter(None, match.groups())), [])
            elif not (again or explained is None) and line.startswith("    "):
                explained += [line.strip()][: MOST_EXPLAINED - len(explained)]
            else:
                explained = None
            if not again and (match := PYTEST.fullmatch(line) or LIBTEST.fullmatch(line)):
                for number, word in re.findall(r"(\d+) ([a-z]+)", " ".join(match.groups())):
                    counts["failed" if word.startswith("error") else word] += int(number)
    return names if made.returncode else None


def shown(fd: int) -> Iterator[str]:
    """The lines of what comes, once it was written out as it came."""
    begun = b""
    while data := os.read(fd, 1 << 16):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        *lines, begun = (begun + data).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)
    yield begun.decode(errors="replace")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
