"""Calibrations are found again by machine, newest first, and a damaged file keeps nobody from
measuring."""

import copy
import json

import pytest
from rich.console import Console

from rmwbench import whole_file
from rmwbench.campaign import calibrations
from rmwbench.campaign.calibrate import calibration_session
from rmwbench.campaign.calibrate.calibration_session import CalibrationSession, fresh_directory
from rmwbench.errors import UserError

MACHINE = {
    "hardware": {
        "architecture": "x86_64",
        "cpu_model": "a processor",
        "cores_online": 4,
        "cores_usable": 4,
        "memory_bytes": 16_400_000_000,
    },
    "kernel": {"release": "6.1"},
}


def calibration(created_utc="2026-11-21T10:00:00Z", machine=MACHINE, floor=0.12, **more):
    return {
        "schema": "rmwbench/calibration",
        "version": 1,
        "created_utc": created_utc,
        "kernel": "6.1",
        "machine": {"fingerprint": calibrations.fingerprint(machine)},
        "truths": {"total": 2, "recovered": 2, "failed": 0, "unknown": 0, "list": [{"checks": []}]},
        "aa": {"total": 1, "different": 0, "unknown": 0, "floor": {"all": floor}, "pairs": [{}]},
        "own_cost": {},
        **more,
    }


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def other_machine(**hardware):
    other = copy.deepcopy(MACHINE)
    other["hardware"] |= hardware
    return other


def test_the_newest_of_this_machine_is_found():
    assert calibrations.newest(MACHINE) is None
    calibrations.save(calibration("2026-11-21T10:00:00Z"))
    calibrations.save(calibration("2026-11-22T09:00:00Z"))
    calibrations.save(calibration("2027-01-01T00:00:00Z", other_machine(cpu_model="another")))
    assert calibrations.newest(MACHINE)["created_utc"] == "2026-11-22T09:00:00Z"


def test_hardware_makes_the_machine_and_the_kernel_does_not():
    same = copy.deepcopy(MACHINE)
    same["kernel"]["release"] = "6.2"
    same["hardware"]["memory_bytes"] += 20_000_000  # another kernel keeps a little more for itself
    assert calibrations.fingerprint(same) == calibrations.fingerprint(MACHINE)
    for change in ({"cpu_model": "x"}, {"cores_usable": 2}, {"memory_bytes": 8_000_000_000}):
        assert calibrations.fingerprint(other_machine(**change)) != calibrations.fingerprint(
            MACHINE
        )


def test_a_calibration_is_found_after_a_boot_that_left_a_little_less_memory():
    """Whole gigabytes alone would make two machines of 16.4999 and 16.5001."""
    calibrations.save(calibration(machine=other_machine(memory_bytes=16_500_100_000)))
    assert calibrations.newest(other_machine(memory_bytes=16_499_900_000)) is not None
    assert calibrations.newest(other_machine(memory_bytes=8_250_000_000)) is None


def test_a_place_that_cannot_be_written_is_refused_before_any_trial(state, tmp_path, monkeypatch):
    state.write_text("a file")
    monkeypatch.setattr(calibration_session, "require_workers", lambda _: pytest.fail("too late"))
    session = CalibrationSession(tmp_path / "out", dict, Console(quiet=True))
    with pytest.raises(UserError, match="cannot be written"):
        session.run()
    assert not (tmp_path / "out").exists()


def test_a_calibration_goes_into_a_directory_and_not_into_a_file(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(UserError) as error:
        fresh_directory(tmp_path / "out")
    assert error.value.actual == "it is a file"


def test_damaged_and_foreign_files_are_passed_over():
    good = calibrations.save(calibration("2026-11-21T10:00:00Z"))
    damaged = calibrations.save(calibration("2026-11-22T10:00:00Z"))
    damaged.write_text('{"schema": "rmwb')
    calibrations.save(calibration("2026-11-23T10:00:00Z", version=2))
    calibrations.save(calibration("2026-11-24T10:00:00Z", schema="something else"))
    calibrations.save(calibration("2026-11-25T10:00:00Z", truths=None))
    (good.parent / f"{calibrations.fingerprint(MACHINE)}-20990101T000000Z.json").write_text("[]")
    assert calibrations.newest(MACHINE)["created_utc"] == "2026-11-21T10:00:00Z"


def test_a_file_is_whole_or_not_there(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_file.os, "fsync", full)
    with pytest.raises(UserError, match="No space left"):
        calibrations.save(calibration())
    assert not list(calibrations.directory().glob("*.json"))
    assert calibrations.newest(MACHINE) is None


def test_a_campaign_takes_the_counts_and_the_floor_and_not_every_check():
    calibrations.save(calibration())
    taken = calibrations.for_campaign(MACHINE)
    assert taken["aa_floor"] == 0.12
    assert taken["calibration"]["truths"] == {"total": 2, "recovered": 2, "failed": 0, "unknown": 0}
    assert "pairs" not in taken["calibration"]["aa"]
    assert "state" not in json.dumps(taken)  # no path of this machine
