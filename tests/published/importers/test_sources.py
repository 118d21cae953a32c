"""Files, folders and archives that are damaged, closed, endless or oddly named: one error, nothing
left, no hang."""

import bz2
import gzip
import hashlib
import lzma
import os
import random
import resource
import signal
import subprocess
import tarfile

import pytest

from rmwbench.bundle import Bundle
from rmwbench.bundle.pack import PackedWriter
from rmwbench.cli.published import import_
from rmwbench.errors import UserError
from rmwbench.published.importers import import_published
from rmwbench.published.importers.data_source import MOST_HEADER_BYTES, Source
from rmwbench.published.importers.imported_bundle import collect
from tests.published.importers.samples import put
from tests.published.importers.test_malformed import encoded, tar, tree
from tests.support.command import COMMAND
from tests.support.program import until


def refused(path, tmp_path, kind=None) -> str:
    """Return the text of the only error; nothing else is there afterwards."""
    before = tree(tmp_path)
    with pytest.raises(UserError) as raised:
        import_published(path, tmp_path / "out", kind)
    assert tree(tmp_path) == before
    return raised.value.render()


def sums(files: dict[str, bytes]) -> bytes:
    lines = (f"{hashlib.sha256(data).hexdigest()}  ./{name}\n" for name, data in files.items())
    return "".join(lines).encode()


# Archives


def test_a_flipped_bit_of_a_compressed_archive_is_never_imported(tmp_path):
    """The check value comes last in the stream: it must be read."""
    good = gzip.compress(tar(*encoded("tsc-2020-mininet")[1].items()))
    random.seed(1)
    for _ in range(60):
        place = random.randrange(10, len(good))
        bad = bytearray(good)
        bad[place] ^= 1 << random.randrange(8)
        (tmp_path / "x.tar.gz").write_bytes(bad)
        assert "damaged" in refused(tmp_path / "x.tar.gz", tmp_path, "tsc-2020-mininet")


@pytest.mark.parametrize("cut", [1, 8, 10, 100])
@pytest.mark.parametrize("compress", ["gz", "bz2", "xz"])
def test_an_archive_that_is_cut_at_its_end_is_never_imported(compress, cut, tmp_path):
    with_ = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[compress]
    (tmp_path / "x").write_bytes(with_(tar(*encoded("gscam")[1].items()))[:-cut])
    assert "damaged" in refused(tmp_path / "x", tmp_path, "gscam")


def test_data_behind_the_end_mark_is_an_error(tmp_path):
    (tmp_path / "x.tar").write_bytes(tar(*encoded("gscam")[1].items()) + b"x" * 512)
    assert "after the end mark" in refused(tmp_path / "x.tar", tmp_path, "gscam")


def test_a_huge_header_is_refused_before_it_is_read(tmp_path):
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 1_500_000_000
    (tmp_path / "x.tar").write_bytes(member.tobuf() + bytes(10_240))
    assert f"a header of {member.size} bytes" in refused(tmp_path / "x.tar", tmp_path)
    assert member.size > MOST_HEADER_BYTES


def test_the_same_file_twice_in_an_archive(tmp_path):
    files = encoded("tsc-2020-mininet")[1]
    (tmp_path / "x.tar").write_bytes(tar(*files.items(), *files.items()))
    assert "twice" in refused(tmp_path / "x.tar", tmp_path)


# Folders and special files


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    """Permissions do not bind root, so the test simulates the refusal."""
    put(tmp_path / "in", encoded("tsc-2020-mininet")[1])
    closed, scandir = str(tmp_path / "in/x/cell/run02"), os.scandir

    def refuse(path="."):
        if str(path) == closed:
            raise PermissionError(13, "Permission denied", closed)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    said = refused(tmp_path / "in", tmp_path)
    assert closed in said and "Permission denied" in said


@pytest.mark.parametrize("kind", ["tsc-2020-mininet", None])
def test_a_pipe_is_refused_and_does_not_hang(kind, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "a pipe is read only once" in refused(tmp_path / "pipe", tmp_path, kind)


def test_pipes_and_links_within_a_folder_are_skipped_and_named(tmp_path):
    put(tmp_path / "in", encoded("gscam")[1])
    os.mkfifo(tmp_path / "in/run/pipe")
    (tmp_path / "in/run/link").symlink_to(tmp_path)
    done = import_published(tmp_path / "in", tmp_path / "out")
    assert sorted(Bundle(done.directory).campaign.imported["source"]["skipped"]) == [
        "run/link",
        "run/pipe",
    ]


def test_what_lies_in_a_hidden_folder_is_no_data(tmp_path):
    """The copies of Jupyter and the files of git were taken for data."""
    files = {name: b"1\n" for name in (".git/HEAD", "a/.ipynb_checkpoints/x.csv", "a/x.csv")}
    (tmp_path / "x.tar").write_bytes(tar(*files.items()))
    for source in (put(tmp_path / "data", files), tmp_path / "x.tar"):
        assert [item.name for item in Source(source)] == ["a/x.csv"]


def test_a_bundle_below_the_data_is_no_data(tmp_path):
    """A second import of the working directory read the bundle of the first."""
    source = put(tmp_path / "in", encoded("gscam")[1])
    first, second = (import_published(source, source / "campaigns" / name) for name in "ab")
    assert first.files == second.files
    digests = {Bundle(i.directory).campaign.imported["source"]["sha256"] for i in (first, second)}
    assert len(digests) == 1


def test_a_loop_of_links_is_named(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert "a loop of symbolic links" in refused(tmp_path / "a", tmp_path)


def test_names_that_are_not_text_or_break_lines(tmp_path):
    files = encoded("gscam")[1]
    put(tmp_path / "in", files)
    os.rename(
        tmp_path / "in/run/findings.txt", os.fsencode(tmp_path / "in/run") + b"/\xff-findings.txt"
    )
    assert "is not text" in refused(tmp_path / "in", tmp_path)
    put(tmp_path / "lines", {"a\nb.csv": b"hello\n"})
    said = refused(tmp_path / "lines", tmp_path)
    assert len(said.splitlines()) == 4 and "a\\nb.csv" in said
    name = os.fsdecode(b"\xff-gscam")
    put(tmp_path / name, files)
    done = import_published(tmp_path / name, tmp_path / "out-\n")
    assert Bundle(done.directory).campaign.imported["source"]["name"] == "\\udcff-gscam"


# Files that are not of a known format, and why


UNKNOWN = {
    "empty": (b"", "an empty file"),
    "blank": (b"\n \n", "an empty file"),
    "Latin-1": ("rmw,größe\n1,2\n".encode("latin-1"), "x.csv:1: not a text file in UTF-8"),
    "Latin-1 below": (b"a,b\n1,2\n\xe9,3\n", "x.csv:3: not a text file in UTF-8"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
    "UTF-16 without mark": ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16"),
    "other": (b"a,b\n1,2\n", "no known format"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_why_a_format_is_unknown(name, tmp_path):
    content, said = UNKNOWN[name]
    (tmp_path / "x.csv").write_bytes(content)
    assert said in refused(tmp_path / "x.csv", tmp_path)


@pytest.mark.parametrize("kind", [None, "github-csv", "gscam"])
def test_semicolons_are_named(kind, tmp_path):
    file = "b_pr.csv" if kind != "gscam" else "run/summary.csv"
    content = encoded(kind or "github-csv")[1][file].replace(b",", b";")
    put(tmp_path, {f"data/{file}": content})
    assert "emicolons between the cells" in refused(tmp_path / "data", tmp_path, None)


# Checksums


def test_files_are_checked_against_the_list_that_comes_with_them(tmp_path):
    files = encoded("gscam")[1]
    put(tmp_path / "in", {**files, "SHA256SUMS": sums(files)})
    done = import_published(tmp_path / "in", tmp_path / "out")
    assert Bundle(done.directory).campaign.imported["source"]["checked"] == len(files)
    victim = tmp_path / "in/run/summary.csv"
    victim.write_bytes(victim.read_bytes().replace(b"60", b"61"))
    said = refused_beside(tmp_path / "in", tmp_path)
    assert "not the one in" in said and "summary.csv" in said and "SHA-256" in said
    victim.unlink()
    assert "no run/summary.csv" in refused_beside(tmp_path / "in", tmp_path)


def refused_beside(path, tmp_path) -> str:
    with pytest.raises(UserError) as raised:
        import_published(path, tmp_path / "other")
    assert not (tmp_path / "other").exists() and not (tmp_path / "other.partial").exists()
    return raised.value.render()


def test_a_list_above_holds_for_one_folder_file_or_archive_below(tmp_path):
    files = encoded("gscam")[1]
    archive = gzip.compress(tar(*files.items()))
    put(
        tmp_path / "all",
        {f"a/in/{n}": d for n, d in files.items()} | {"b.tar.gz": archive, "c/not here": b""},
    )
    listed = {f"a/in/{n}": d for n, d in files.items()} | {"b.tar.gz": archive, "d": b""}
    put(tmp_path / "all", {"SHA256SUMS": sums(listed)})
    for n, place in enumerate(("a/in", "b.tar.gz")):
        source = Source(tmp_path / "all" / place)
        assert len(list(source)) == len(files)
        assert source.checked == (len(files) if n == 0 else 1)
    other = tmp_path / "all/b.tar.gz"
    other.write_bytes(gzip.compress(tar(*files.items()), compresslevel=1))
    with pytest.raises(UserError, match="not the one in"):
        list(Source(other))


def test_a_list_within_an_archive_is_checked(tmp_path):
    files = encoded("gscam")[1]
    (tmp_path / "x.tar").write_bytes(tar(*files.items(), ("SHA256SUMS", sums(files))))
    source = Source(tmp_path / "x.tar")
    assert len(list(source)) == len(files) and source.checked == len(files)
    changed = {**files, "run/summary.csv": files["run/summary.csv"].replace(b"60", b"61")}
    (tmp_path / "x.tar").write_bytes(tar(("SHA256SUMS", sums(files)), *changed.items()))
    assert "not the one in" in refused(tmp_path / "x.tar", tmp_path)
    del changed["run/summary.csv"]
    (tmp_path / "x.tar").write_bytes(tar(*changed.items(), ("SHA256SUMS", sums(files))))
    assert "no run/summary.csv" in refused(tmp_path / "x.tar", tmp_path, "gscam")


def test_a_list_that_is_not_valid_is_told_with_its_line(tmp_path):
    files = encoded("gscam")[1]
    put(tmp_path / "in", {**files, "SHA256SUMS": sums(files) + b"not a sum\n"})
    assert f"SHA256SUMS:{len(files) + 1}: not a list" in refused(tmp_path / "in", tmp_path)


def test_damage_is_not_taken_for_another_format_when_figures_are_collected(tmp_path):
    files = encoded("gscam")[1]
    put(tmp_path / "all", {f"a/{n}": d for n, d in files.items()})
    put(tmp_path / "all", {"a/SHA256SUMS": sums({n: d + b"x" for n, d in files.items()})})
    put(tmp_path / "all/b", encoded("irobot")[1])
    with pytest.raises(UserError, match="not the one in"):
        collect(tmp_path / "all")


# The place of the bundle


def test_the_directory_one_is_in_is_not_replaced(tmp_path, monkeypatch):
    put(tmp_path / "in", encoded("gscam")[1])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for out in (".", tmp_path / "here", "../here"):
        with pytest.raises(UserError, match="the directory you are in"):
            import_published(tmp_path / "in", out)
    with pytest.raises(UserError, match="taken"):
        import_published(tmp_path / "in", "..")
    assert import_published(tmp_path / "in", "x/../y").directory.exists()


def test_what_a_killed_import_left_is_removed_and_a_living_one_is_not(tmp_path):
    put(tmp_path / "in", encoded("gscam")[1])
    put(tmp_path / "out.partial", {"tables/x/y": b"", "files/z": b""})
    assert import_published(tmp_path / "in", tmp_path / "out").files
    assert not (tmp_path / "out.partial").exists()
    with PackedWriter(tmp_path / "other"), pytest.raises(UserError, match="is under way"):
        import_published(tmp_path / "in", tmp_path / "other")
    put(tmp_path / "mine.partial", {"letter": b"dear"})
    with pytest.raises(UserError, match="no import left it"):
        import_published(tmp_path / "in", tmp_path / "mine")
    assert (tmp_path / "mine.partial/letter").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing_behind(number, tmp_path):
    """The archive's data come slowly, so that the signal meets a running import."""
    files = encoded("tsc-2020-mininet")[1]
    run = {n.rpartition("/")[2]: d for n, d in files.items() if "run01" in n}
    many = {
        f"x/cell/run{k:04d}/{n}": d.replace(b"Experiment id: 0", b"Experiment id: %d" % k)
        for k in range(3000)
        for n, d in run.items()
    }
    (tmp_path / "x.tar").write_bytes(tar(*many.items()))
    process = subprocess.Popen(
        [*COMMAND, "published", "import", "x.tar", "--out", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    partial = tmp_path / "out.partial"
    until(lambda: partial.exists() or process.poll() is not None, timeout_s=300)
    assert process.poll() is None, process.communicate()
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 128 + number and b"Traceback" not in said
    assert tree(tmp_path) == {"x.tar"}


def test_a_hang_up_that_nohup_ignores_stays_ignored():
    before = [signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)]
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        import_._end_on_signals()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        for number, handler in zip((signal.SIGHUP, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)


def test_a_full_disk_is_one_error_and_leaves_nothing(tmp_path):
    put(tmp_path / "in", encoded("gscam")[1])
    done = subprocess.run(
        [*COMMAND, "published", "import", "in", "--out", "out"],
        cwd=tmp_path,
        # Python would leave the bytecode that it caches cut off at the limit as well.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)),
    )
    assert (
        done.returncode == 2 and "cannot write the bundle" in done.stderr and "do:" in done.stderr
    ), done.stderr
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.partial").exists()
