"""The service that keeps this machine's clock, and its accuracy by its own account: that of the
kernel (adjtimex(2)), and those of chrony and PTP where they run. An absent account is None.

Trials on one machine do not need it. Trials over several machines measure the offset by their own
exchanges; these accounts are stored beside them for comparison.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmwbench.lab.kernel_files import file_text
from rmwbench.words.numbers import quantity

TIMEOUT_S = 1.0
UNSYNCHRONISED = 0x0040  # of the kernel's status word


def timekeeping() -> dict[str, Any]:
    """The accounts `kernel` {synchronised, frequency_ppm, tick_ppm, estimated_error_ns,
    maximum_error_ns}, `chrony` {reference, stratum, offset_ns, rms_offset_ns, frequency_ppm,
    root_delay_ns, root_dispersion_ns, leap} and `ptp` {offset_ns, path_delay_ns, port_state}, and
    `ptp_devices` {name: clock_name}; each is None where there is none."""
    devices = {
        path.name: file_text(path / "clock_name")
        for path in sorted(Path("/sys/class/ptp").glob("ptp*"))
    }
    return {"kernel": kernel(), "chrony": chrony(), "ptp": ptp(), "ptp_devices": devices or None}


def keeper(state: Mapping[str, Any]) -> str:
    """A text with the service that keeps the clock, and the offset by its account."""
    if account := state["ptp"]:
        return (
            f"PTP, {quantity(account['offset_ns'], 'ns')} from its master "
            f"({account['port_state'] or 'unknown state'})"
        )
    if account := state["chrony"]:
        if not account["reference"]:
            return "chrony, without a source"
        bound_ns = account["root_dispersion_ns"] + account["root_delay_ns"] / 2
        return (
            f"chrony, stratum {account['stratum']}, {quantity(abs(account['offset_ns']), 'ns')} "
            f"off at the last update, within {quantity(bound_ns, 'ns')}"
        )
    devices = (
        f"; PTP hardware without ptp4l: {', '.join(state['ptp_devices'])}"
        if state["ptp_devices"]
        else ""
    )
    if (account := state["kernel"]) and account["synchronised"]:
        bound = quantity(account["maximum_error_ns"], "ns")
        return f"a service that is not chrony, within {bound}{devices}"
    return f"no service: no PTP, no chrony, and no other set the kernel's clock{devices}"


class _Timex(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_uint)]
    _fields_ += [(name, ctypes.c_long) for name in ("offset", "freq", "maxerror", "esterror")]
    _fields_ += [("status", ctypes.c_int)]
    _fields_ += [
        (n, ctypes.c_long)
        for n in ("constant", "precision", "tolerance", "seconds", "fraction", "tick")
    ]
    _fields_ += [("rest", ctypes.c_byte * 256)]


def kernel() -> dict[str, Any] | None:
    """The account of the kernel, which every user may read; None where it has none."""
    timex = _Timex()
    try:
        if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex)) < 0:
            return None
    except AttributeError:
        return None
    return {
        "synchronised": not timex.status & UNSYNCHRONISED,
        "frequency_ppm": timex.freq / 65536,
        "tick_ppm": timex.tick * 100.0 - 1e6,  # a tick is 10 000 µs at the nominal rate
        "estimated_error_ns": timex.esterror * 1000,
        "maximum_error_ns": timex.maxerror * 1000,
    }


def chrony() -> dict[str, Any] | None:
    text = _answer("chronyc", "-n", "-c", "tracking")
    return None if text is None else parse_chrony(text)


def parse_chrony(text: str) -> dict[str, Any] | None:
    """Parses the line of `chronyc -c tracking` (chronyc(1)): reference ID, name, stratum, time of
    reference, correction of the system's time, last offset, RMS offset, frequency, residual
    frequency, skew, root delay, root dispersion, update interval, leap status. None for any other
    text."""
    words = text.strip().split(",")
    if len(words) < 14:
        return None
    try:
        ns = [round(float(words[column]) * 1e9) for column in (5, 6, 10, 11)]
        stratum, frequency_ppm = int(words[2]), float(words[7])
    except ValueError:
        return None
    return {
        "reference": words[1] or None,
        "stratum": stratum,
        "offset_ns": ns[0],
        "rms_offset_ns": ns[1],
        "frequency_ppm": frequency_ppm,
        "root_delay_ns": ns[2],
        "root_dispersion_ns": ns[3],
        "leap": words[13],
    }


def ptp() -> dict[str, Any] | None:
    """The account of a running ptp4l, which usually only root may ask."""
    text = _answer("pmc", "-u", "-b", "0", "GET CURRENT_DATA_SET", "GET PORT_DATA_SET")
    return None if text is None else parse_ptp(text)


def parse_ptp(text: str) -> dict[str, Any] | None:
    """Parses the answers of `pmc` (pmc(8)): lines of a name and a value."""
    words = dict(line.split()[:2] for line in text.splitlines() if len(line.split()) == 2)
    if "offsetFromMaster" not in words:
        return None
    try:
        offset, delay = float(words["offsetFromMaster"]), float(words.get("meanPathDelay", "nan"))
    except ValueError:
        return None
    return {
        "offset_ns": offset,
        "path_delay_ns": None if delay != delay else delay,
        "port_state": words.get("portState"),
    }


def _answer(program: str, *arguments: str) -> str | None:
    """The output of a program; None where it is not installed, does not answer or fails."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        completed = subprocess.run(
            [path, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout if completed.returncode == 0 and completed.stdout.strip() else None
