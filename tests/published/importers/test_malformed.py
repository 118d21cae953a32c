"""Whatever is done to the data: it is imported, or ONE error says file, line and what was expected.
There is no traceback."""

import gzip
import io
import re
import tarfile
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmwbench.bundle import Bundle
from rmwbench.bundle.schema import table_from_rows
from rmwbench.errors import UserError
from rmwbench.published.imported import summarise
from rmwbench.published.importers import KINDS, import_published
from rmwbench.published.importers.data_source import Source, SourceFile
from rmwbench.published.importers.formats.mininet import RUNS_AT_ONCE
from rmwbench.published.importers.kinds import recognise
from rmwbench.published.importers.published import Published
from tests.published.importers import PATIENT
from tests.published.importers.samples import SAMPLES, put


class Files:
    """A source in memory: readers use nothing but its files."""

    path = "in memory"

    def __init__(self, files: dict[str, bytes]):
        self._files = files

    def __iter__(self):
        return iter([SourceFile(name, name, data) for name, data in sorted(self._files.items())])


class Nowhere:
    """A writer that keeps nothing but the number of trials."""

    def __init__(self):
        self.trials = 0

    def trial(self, **_):
        self.trials += 1
        return self.trials - 1

    def rows(self, *_):
        pass


def read(kind: str, files: dict[str, bytes]) -> Published:
    out = Published(Nowhere())
    KINDS[kind].reader().read(Files(files), out)
    out.flush()
    table_from_rows("figures", out.figures)
    table_from_rows("cells", out.cells)
    return out


def encoded(name: str) -> tuple[str, dict[str, bytes]]:
    kind, files = SAMPLES[name]
    return kind, {path: text.encode() for path, text in files.items()}


def tar(*files: tuple[str, bytes]) -> bytes:
    """Return an archive, not compressed; a file may be in it twice."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def tree(directory) -> set[str]:
    return {str(p.relative_to(directory)) for p in directory.rglob("*")}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_recognised_and_read(name):
    kind, files = encoded(name)
    assert recognise(Files(files)).name == kind
    out = read(kind, files)
    assert out.figures and out.errors and out.limits
    assert all(
        row["as_corrected"] is not None or row["note"].startswith("no data") for row in out.figures
    )


DAMAGE = ("cut", "byte", "drop", "double", "empty", "cell", "swap", "junk", "nothing")
NUMBERS = (b"-1", b"0", b"1e400", b"nan", b"inf", b"1_0", b"9" * 30, b"-")
CELLS = (b"", *NUMBERS, b"x", b'"', "é".encode())


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data())
@settings(max_examples=40, **PATIENT)
def test_damage_is_imported_or_told_in_one_error(name, data):
    kind, files = encoded(name)
    victim = data.draw(st.sampled_from(sorted(files)))
    files[victim] = data.draw(damaged(files[victim]))
    try:
        read(kind, files)
    except UserError as error:
        assert error.where and error.expected, error.render()
        assert re.search(r"[\w.]+", error.where)


@st.composite
def damaged(draw, content: bytes) -> bytes:
    """Return the data cut, garbled, with lines removed, doubled, swapped or emptied, or with cells
    replaced."""
    lines = content.split(b"\n")
    at = draw(st.integers(0, len(lines) - 1))
    match draw(st.sampled_from(DAMAGE)):
        case "cut":
            return content[: draw(st.integers(0, len(content)))]
        case "byte":
            i = draw(st.integers(0, len(content) - 1))
            return content[:i] + draw(st.binary(min_size=1, max_size=2)) + content[i + 1 :]
        case "drop":
            del lines[at]
        case "double":
            lines.insert(at, lines[at])
        case "empty":
            lines[at] = b""
        case "cell":
            separator = b"," if b"," in lines[at] else b" "
            cells = lines[at].split(separator)
            k = draw(st.integers(0, len(cells) - 1))
            cells[k] = draw(st.sampled_from(CELLS))
            lines[at] = separator.join(cells)
        case "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        case "junk":
            lines.insert(at, draw(st.binary(max_size=30)))
        case "nothing":
            return b""
    return b"\n".join(lines)


WRONG = {  # sample: (file, old, new, what the error must say)
    "tsc-2020-mininet": (
        "x/cell/run02/sub_log",
        "0.5,\t\t0.5",
        "0.5,\t\tfast",
        ("sub_log:14", "latency_max (ms)", "'fast'"),
    ),
    "tsc-2020-wifi": (
        "c-s-80-1.txt",
        "---EXPERIMENT-START---",
        "",
        ("c-s-80-1.txt", "---EXPERIMENT-START---"),
    ),
    "github-csv": ("b_pr.csv", "3600.0", "soon", ("b_pr.csv:2", "time_to_close", "'soon'")),
    "survey": (
        "survey.csv",
        "Neutral",
        "Perhaps",
        ("survey.csv:2", "Strongly Disagree", "'Perhaps'"),
    ),
    "cyclonedds-2021": (
        "ubuntu-limited.csv",
        "rmw_fastrtps_cpp",
        "rmw_other",
        ("ubuntu-limited.csv:3", "alternate"),
    ),
    "gscam": (
        "run/zenoh/low_2025-10-22_14-01-17.csv",
        ",480,15,",
        ",480,16,",
        ("01-17.csv:3", "configuration changes"),
    ),
    "eprosima-2019": (
        "latency/localhost/fastrtps/results.csv",
        "105,69",
        "105,69,1,1",
        ("results.csv:2", "7 values"),
    ),
    "irobot": ("fastrtps/mont/latency_all.txt", "152", "", ("latency_all.txt:2", "13 words")),
    "ddsperf": ("sub.txt", "delta 1001", "delta many", ("sub.txt:5", "unknown line")),
    "tsc-2021-build-farm raw": (
        "raw/overhead_node_test_results_rmw_connextdds_sync.csv",
        "3.5,",
        "3.5;",
        ("_sync.csv:2", "12"),
    ),
    "perf-test": (
        "c.json",
        '"loop_start": 1000000000',
        '"loop_start": "x"',
        ("c.json", "analysis_results[0]", "loop_start"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_error_with_file_line_and_expectation_and_nothing_left(name, tmp_path):
    kind, files = encoded(name)
    victim, old, new, said = WRONG[name]
    assert old.encode() in files[victim]
    files[victim] = files[victim].replace(old.encode(), new.encode(), 1)
    put(tmp_path / "in", files)
    before = tree(tmp_path)
    with pytest.raises(UserError) as raised:
        import_published(tmp_path / "in", tmp_path / "out", kind)
    for words in said:
        assert words in raised.value.render(), raised.value.render()
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", SAMPLES)
def test_a_directory_and_an_archive_of_it_give_the_same_bundle(name, tmp_path):
    _, files = encoded(name)
    put(tmp_path / "in", files)
    (tmp_path / "in.tar.gz").write_bytes(gzip.compress(tar(*sorted(files.items()))))
    imports = [
        import_published(tmp_path / source, tmp_path / f"out-{source}")
        for source in ("in", "in.tar.gz")
    ]
    bundles = [Bundle(done.directory) for done in imports]
    assert bundles[0].rows("figures") == bundles[1].rows("figures")
    for table in ("cells", "windows", "endpoints"):
        assert bundles[0].table(table).equals(bundles[1].table(table))
    assert summarise(bundles[0]).summary and summarise(bundles[0]).trials == imports[0].trials
    sources = [b.campaign.imported["source"] for b in bundles]
    assert sources[0]["sha256"] == sources[1]["sha256"] and sources[0]["files"] == len(files)


def test_another_years_build_farm_is_not_taken_for_this_one(tmp_path):
    put(tmp_path / "in", encoded("tsc-2021-build-farm")[1])
    with pytest.raises(UserError, match="a file of the build of 2021"):
        import_published(tmp_path / "in", tmp_path / "out", "tsc-2020-build-farm")


def test_an_archive_within_a_directory_is_skipped_and_named(tmp_path):
    _, files = encoded("gscam")
    put(tmp_path / "in", {**files, "more.tar.gz": gzip.compress(tar())})
    done = import_published(tmp_path / "in", tmp_path / "out")
    assert Bundle(done.directory).campaign.imported["source"]["skipped"] == ["more.tar.gz"]


def test_a_source_that_is_empty_or_absent(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(UserError, match="no file of data"):
        import_published(tmp_path / "in", tmp_path / "out")
    with pytest.raises(UserError, match="no data files"):
        import_published(tmp_path / "in", tmp_path / "out", "gscam")
    with pytest.raises(UserError, match="no such file"):
        import_published(tmp_path / "not", tmp_path / "out")


def test_a_place_that_is_taken_is_left_alone(tmp_path):
    _, files = encoded("gscam")
    put(tmp_path / "in", files)
    put(tmp_path / "out", {"mine": b"x"})
    with pytest.raises(UserError, match="taken"):
        import_published(tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out/mine").read_bytes() == b"x" and not (tmp_path / "out.partial").exists()


def test_an_archive_is_never_all_in_memory():
    """An archive has 1 050 files of 350 runs, and no more than one batch of them is alive at a
    time."""
    _, files = encoded("tsc-2020-mininet")
    run = {name.rpartition("/")[2]: data for name, data in files.items() if "/run01/" in name}
    alive: weakref.WeakSet[SourceFile] = weakref.WeakSet()
    most = 0

    class Many:
        def __iter__(self):
            nonlocal most
            for n in range(350):
                for name, data in run.items():
                    item = SourceFile(f"cell/run{n:03d}/{name}", name, data)
                    alive.add(item)
                    most = max(most, len(alive))
                    yield item

    out = Published(Nowhere())
    KINDS["tsc-2020-mininet"].reader().read(Many(), out)
    assert out.trials == 350
    assert most <= 3 * 3 * RUNS_AT_ONCE < 1050


def test_links_are_not_followed(tmp_path):
    _, files = encoded("gscam")
    put(tmp_path / "in", files)
    (tmp_path / "secret").write_text("x")
    (tmp_path / "in/run/link.csv").symlink_to(tmp_path / "secret")
    assert import_published(tmp_path / "in", tmp_path / "out").files == len(files)
    assert [i.name for i in Source(tmp_path / "in")] == sorted(files)
