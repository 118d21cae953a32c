"""Every format that can be imported, and the recognition of the one that a path holds: content
decides, never a file's name alone.

A reader (`FormatReader`) is a module with two functions, or an object with two methods. It is
imported when it is needed.
"""

from collections import Counter
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice
from typing import Protocol, cast

from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.importers.data_source import Source, SourceFile, encoding_of, shown
from rmwbench.published.importers.published import Published

LOOKED_AT = 40
"""How many files are read to recognise a directory or an archive."""


class NotRecognised(UserError):
    """What lies at a path is of no known kind, or of several kinds. Damage is a UserError of
    another class."""


class FormatReader(Protocol):
    """Recognises a file of its format, and reads all of them."""

    def recognises(self, item: SourceFile) -> bool: ...

    def read(self, source: Source, out: Published) -> None: ...


@dataclass(frozen=True)
class Kind:
    """A format: its name on the command line, what it is, what a path may be, and the module that
    is its reader (`MODULE:NAME`: the module has the reader under that name). `within` lists more
    general formats whose files lie in this one's directories."""

    name: str
    title: str
    path: str
    module: str
    within: tuple[str, ...] = ()

    def reader(self) -> FormatReader:
        module, _, name = self.module.partition(":")
        imported = import_module(f"{__package__}.formats.{module}")
        return cast(FormatReader, getattr(imported, name) if name else imported)


_KINDS = (
    Kind(
        "tsc-2020-build-farm",
        "OSRF's TSC report 2020: build farm, empty node, publisher and subscriber, "
        "interoperability",
        "one of the five merged CSV files, or their directory",
        "build_farm:YEAR_2020",
    ),
    Kind(
        "tsc-2021-build-farm",
        "OSRF's TSC report 2021: build farm, the same experiments a year later",
        "merged CSV files, their directory, or the raw one-line files (tar.gz or directory)",
        "build_farm:YEAR_2021",
    ),
    Kind(
        "tsc-2020-mininet",
        "OSRF's TSC report 2020: Mininet",
        "raw logs (tar.gz or directory), or MininetResults.csv",
        "mininet",
        within=("perf-test", "tsc-2020-wifi"),
    ),
    Kind(
        "tsc-2020-wifi",
        "OSRF's TSC report 2020: WiFi",
        "the directory of logs",
        "wifi",
        within=("perf-test",),
    ),
    Kind(
        "github-csv",
        "OSRF's TSC report 2020: pull requests, issues and commits",
        "the directory of CSV files",
        "github_csv",
    ),
    Kind("survey", "OSRF's user survey 2020, or one with its columns", "the CSV file", "survey"),
    Kind(
        "cyclonedds-2021",
        "Eclipse Cyclone DDS's report 2021: tables",
        "one table or their directory",
        "cyclonedds_2021",
    ),
    Kind(
        "gscam",
        "NEWSLab's gscam stress test 2025",
        "the directory of one run, or of several",
        "gscam",
    ),
    Kind(
        "hop-chain-2026",
        "the comparison of four RMWs over six hops on Lyrical, 2026 (ivoheck/rmw_benchmarking)",
        "the directory of one session, or of several",
        "hop_chain",
    ),
    Kind(
        "eprosima-2019",
        "eProsima's comparisons 2019: latency and throughput",
        "CSV files (decimal commas are understood) or a directory of them",
        "eprosima_2019",
    ),
    Kind(
        "irobot",
        "iRobot's ros2-performance",
        "a directory with latency_all.txt and what lies beside it",
        "irobot",
    ),
    Kind("ddsperf", "Cyclone DDS's ddsperf", "its output, or a directory of outputs", "ddsperf"),
    Kind(
        "perf-test",
        "performance_test (perf_test) of any version",
        "logs as text, CSV or JSON, or a directory of them",
        "perf_test",
    ),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}


def kind_named(name: str) -> Kind:
    """Return the kind of this name. Raise UserError, with the nearest name, for an unknown one."""
    if name not in KINDS:
        raise UserError(
            f"no kind {name!r}",
            expected=", ".join(KINDS),
            fix=did_you_mean(name, KINDS) or "`rmwbench published import --list` names them",
        )
    return KINDS[name]


def recognise(source: Source) -> Kind:
    """Return the kind of what lies at a path. Raise UserError if no file of it is of a known
    format, or if its files are of several."""
    files: Counter[str] = Counter()
    first: SourceFile | None = None
    for item in islice(source, LOOKED_AT):
        first = first or item
        name = next((k.name for k in _KINDS if k.reader().recognises(item)), None)
        if name:
            files[name] += 1
    if not files:
        raise _unknown(source, first)
    for kind in _KINDS:
        if kind.name in files and set(files) <= {kind.name, *kind.within}:
            return kind
    raise NotRecognised(
        "several kinds of data",
        where=shown(source.path),
        expected="data of one kind",
        actual=", ".join(f"{name} ({count} files)" for name, count in files.most_common()),
        fix="import each directory by itself",
    )


_HELP = (
    "`rmwbench published import --list` says what can be imported; name the KIND to learn what is wrong "
    "with a file"
)


def _unknown(source: Source, first: SourceFile | None) -> NotRecognised:
    """Return the error that says why nothing was recognised, as far as the first file tells."""
    expected = "published data of a known kind"
    if first is None:
        return NotRecognised(
            "no file of data", where=shown(source.path), expected=expected, fix=_HELP
        )
    what, where, fix = "no known format", shown(source.path), _HELP
    actual = f"{first.name} begins with {first.data[:60]!r}"
    if not first.data.strip():
        what, where, actual = "an empty file", first.where, f"{len(first.data)} bytes"
    elif (bad := _not_utf8(first.data)) is not None:
        line = first.data.count(b"\n", 0, bad) + 1
        what, where = "not a text file in UTF-8", f"{first.where}:{line}"
        actual, fix = (
            f"{encoding_of(first.data)}: byte 0x{first.data[bad]:02x}",
            "convert it: iconv -f ENCODING -t UTF-8",
        )
    elif any(k.reader().recognises(_with_commas(first)) for k in _KINDS):
        what, where = "semicolons between the cells", f"{first.where}:1"
        actual, fix = (
            shown(first.data[:60].decode(errors="replace")),
            "save it with commas between the cells",
        )
    return NotRecognised(what, where=where, expected=expected, actual=actual, fix=fix)


def _not_utf8(data: bytes) -> int | None:
    """Return the place of the first byte that is not UTF-8; None if all bytes are."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return data.index(b"\0") if "\0" in text else None


def _with_commas(item: SourceFile) -> SourceFile:
    return replace(item, data=item.data.replace(b";", b","))
