"""The copy of a bundle through pyarrow's filesystems."""

import pytest

from rmwbench.cluster.filesystem import Copy
from rmwbench.errors import UserError


def bundle(path):
    (path / "tables" / "sent").mkdir(parents=True)
    (path / "files").mkdir()
    (path / "campaign.json").write_text("{}")
    (path / "journal.jsonl").write_text("1\n")
    (path / ".lock").touch()
    (path / "tables" / "sent" / "000001.parquet").write_bytes(b"one")
    return path


def test_only_what_is_new_is_copied_and_the_journal_last(tmp_path, monkeypatch):
    there, source = tmp_path / "deep" / "there", bundle(tmp_path / "here")
    copy = Copy(source, f"file://{there}")
    assert copy.is_empty() and copy.update() == 3
    (source / "tables" / "sent" / "000002.parquet").write_bytes(b"two")
    (source / "tables" / "sent" / "000003.parquet.partial").write_bytes(b"half")
    written, write = [], copy._write
    monkeypatch.setattr(
        copy, "_write", lambda name, content: written.append(name) or write(name, content)
    )
    copy.update()
    assert written == ["tables/sent/000002.parquet", "campaign.json", "journal.jsonl"]
    names = sorted(
        path.relative_to(there).as_posix() for path in there.rglob("*") if path.is_file()
    )
    assert names == [
        "campaign.json",
        "journal.jsonl",
        "tables/sent/000001.parquet",
        "tables/sent/000002.parquet",
    ]


def test_a_resumed_copy_goes_on_where_it_was(tmp_path):
    source, address = bundle(tmp_path / "here"), f"file://{tmp_path}/there"
    Copy(source, address).update()
    again = Copy(source, address)
    assert not again.is_empty() and again.update() == 2


def test_a_filesystem_that_cannot_be_used_is_the_users_error(tmp_path):
    with pytest.raises(UserError, match="cannot use this filesystem"):
        Copy(tmp_path, "nonsense://x/y")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot (use|be written)"):
        Copy(bundle(tmp_path / "here"), f"file://{tmp_path}/file/below").update()


def test_an_error_without_a_text_is_named_by_its_kind(tmp_path):
    copy = Copy(bundle(tmp_path / "here"), f"file://{tmp_path}/there")
    assert copy._error("cannot be written", OSError()).actual == "OSError"
