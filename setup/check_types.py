"""Holds mypy's strict errors per package against `types-allowed.txt` beside this file: none may
have more.

    python setup/check_types.py    fails where a package has more errors than it may, prints them
    python setup/check_types.py --write  writes down what each package has now

A package that is not in the list is clean and stays so. Lower a number when you have removed
errors.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = Path(__file__).with_name("types-allowed.txt")


def package_of(line: str) -> str | None:
    """`rmwbench/lab` of an error in rmwbench/lab/process/crew.py, `rmwbench/codes.py` of one there;
    None for another line."""
    found = re.match(r"(rmwbench/(?:[a-z_]+(?=/)|[a-z_]+\.py))[^:]*:\d+: error:", line)
    return found[1] if found else None


def allowed() -> dict[str, int]:
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    return {name: int(number) for name, number in (line.split() for line in lines)}


def main() -> int:
    mypy = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    if mypy.returncode not in (0, 1):
        print(mypy.stdout + mypy.stderr)
        return mypy.returncode
    errors = [line for line in mypy.stdout.splitlines() if package_of(line)]
    counts = Counter(package_of(line) or "" for line in errors)
    if "--write" in sys.argv:
        ALLOWED.write_text(
            "".join(f"{name} {counts[name]}\n" for name in sorted(counts)), encoding="utf-8"
        )
        return 0
    may = allowed()
    worse = [name for name in sorted(counts) if counts[name] > may.get(name, 0)]
    for name in worse:
        print(*(line for line in errors if package_of(line) == name), sep="\n")
        print(
            f"{name}: {counts[name]} errors of types, allowed are {may.get(name, 0)} "
            f"({ALLOWED.name})"
        )
    for name, number in may.items():
        if counts[name] < number:
            print(
                f"{name}: {counts[name]} errors of types, allowed are {number}: lower it (--write)"
            )
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
