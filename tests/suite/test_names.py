"""Suites are found by the names that people type, wherever their files lie."""

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.file import suite_files
from rmwbench.suite.file.suite_files import find, shipped_suites, suite_file


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A directory of suites: one at the top, one in a folder, and a published source with two
    suites and its claims."""
    for name in (
        "quick",
        "features/soak",
        "published/old-2020/old-2020",
        "published/old-2020/wifi",
    ):
        file = tmp_path / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("suite: x\n")
    (tmp_path / "published/old-2020/claims.yaml").write_text("")
    monkeypatch.setattr(suite_files, "suites_directory", lambda: tmp_path)
    return tmp_path


def test_a_published_suite_is_called_by_its_source_and_its_own_name(shipped):
    assert shipped_suites() == ["features/soak", "old-2020", "old-2020/wifi", "quick"]
    assert suite_file("old-2020") == shipped / "published/old-2020/old-2020.yaml"
    assert find("old-2020/wifi") == shipped / "published/old-2020/wifi.yaml"
    with pytest.raises(UserError, match="no suite"):
        find("published/old-2020/wifi")
