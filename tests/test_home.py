"""Where a user's files are, and what a user without a home is told."""

import pwd

import pytest

from rmwbench import home
from rmwbench.campaign import calibrations
from rmwbench.errors import UserError


@pytest.fixture
def nobody(monkeypatch):
    """A user whom the system does not know, as `podman run --user 1000` may have."""

    def unknown(number: int) -> None:
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.parametrize(("place", "variable"), [(home.cache, "CACHE"), (home.state, "STATE")])
def test_a_user_without_a_home_is_told_what_to_set(nobody, place, variable):
    with pytest.raises(UserError) as told:
        place()
    assert f"XDG_{variable}_HOME" in str(told.value) and "export HOME=" in str(told.value)


def test_a_variable_is_enough(nobody, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert home.cache() == tmp_path / "rmwbench"


def test_without_a_home_the_machine_has_no_calibration(nobody):
    assert calibrations.newest({"hardware": {}}) is None
