"""The stored calibrations: a file each under the user's state directory, named after the machine
and the time.

A machine is identified by its hardware, not by its kernel: a calibration from before an upgrade is
still used, and the report says that the kernel was another one.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from rmwbench import home
from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input
from rmwbench.results.machine.machine_model import Hardware
from rmwbench.whole_file import check_writable, durable_file, make_directory

SCHEMA, VERSION = "rmwbench/calibration", 1
_DETAILS = {"truths": "list", "aa": "pairs"}
"""Part of a calibration → its single checks, which a campaign does not keep."""
_SUMMARY = (
    "calibration", "created_utc", "tool_version", "quick", "kernel", "blocks", "truths", "aa", "own_cost", "not_tested",
)  # fmt: skip


MEMORY_PARTS = 16
"""At another boot the memory of a machine differs by less than 1 / MEMORY_PARTS: firmware and
kernel keep different amounts of it, also on machines of the same model."""


def directory() -> Path:
    """Return the folder of calibrations. Raises UserError if the user has no home."""
    return home.state() / "calibrations"


def fingerprint(machine: Mapping[str, Any]) -> str:
    """Return 12 hexadecimal digits that identify the machine by its processor, usable cores, and
    memory in whole gigabytes."""
    memory = machine["hardware"].get("memory_bytes")
    return _fingerprint(machine, None if memory is None else round(memory / 1e9))


def _fingerprint(machine: Mapping[str, Any], memory_gb: int | None) -> str:
    hardware = machine["hardware"]
    names = ("architecture", "cpu_model", "cores_online", "cores_usable")
    identity = [*map(hardware.get, names), memory_gb]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]


def possible_fingerprints(machine: Mapping[str, Any]) -> list[str]:
    """Return the fingerprint of the machine and those that it may have had at another boot."""
    own, memory = fingerprint(machine), machine["hardware"].get("memory_bytes")
    if memory is None:
        return [own]
    least, most = (
        round(memory * (1 + part) / 1e9) for part in (-1 / MEMORY_PARTS, 1 / MEMORY_PARTS)
    )
    others = (_fingerprint(machine, memory_gb) for memory_gb in range(least, most + 1))
    return [own, *(other for other in others if other != own)]


def check_store() -> None:
    """Raise UserError unless a calibration can be stored, before a trial is run for it."""
    make_directory(directory())
    check_writable(directory() / "calibration.json")


def hardware(machine: Mapping[str, Any]) -> Hardware:
    """Return a calibration's description of its machine."""
    facts = machine["hardware"]
    return Hardware(
        fingerprint=fingerprint(machine),
        summary=machine["summary"],
        cpu_model=facts["cpu_model"],
        cores_usable=facts["cores_usable"],
        memory_bytes=facts["memory_bytes"],
    )


def save(document: Mapping[str, Any]) -> Path:
    """Store the calibration as a whole file or not at all; return its path. Raises UserError if it
    cannot be written."""
    folder = directory()
    make_directory(folder)
    stamp = document["created_utc"].replace("-", "").replace(":", "")
    path = folder / f"{document['machine']['fingerprint']}-{stamp}.json"
    write(document, path)
    return path


def write(document: Mapping[str, Any], path: Path) -> None:
    """Write the calibration. Raises UserError if it cannot be written."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    with durable_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def newest(machine: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the newest readable calibration of this machine, or None. Unreadable files, files of
    another version and a missing home are ignored: they must not keep a campaign from running."""
    try:
        folder = directory()
    except UserError:
        return None
    names = possible_fingerprints(machine)
    paths = [path for path in folder.glob("*-*.json") if path.name.partition("-")[0] in names]
    for path in sorted(paths, key=lambda path: path.name.partition("-")[2], reverse=True):
        try:
            document = parse_json(read_input(path))
        except (OSError, ValueError):
            continue
        if _is_calibration(document):
            return document
    return None


def _is_calibration(document: Any) -> TypeGuard[dict[str, Any]]:
    if not isinstance(document, dict):
        return False
    of_this_version = (document.get("schema"), document.get("version")) == (SCHEMA, VERSION)
    return of_this_version and all(isinstance(document.get(part), dict) for part in _DETAILS)


def for_campaign(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys for `machine` of campaign.json: `calibration` (the newest one without its
    single checks) and `aa_floor`; empty if this machine was never calibrated."""
    document = newest(machine)
    if document is None:
        return {}
    summary = {name: document[name] for name in _SUMMARY if name in document}
    for part, details in _DETAILS.items():
        summary[part] = {name: value for name, value in document[part].items() if name != details}
    floor = document["aa"].get("floor", {}).get("all")
    return {"calibration": summary} | ({} if floor is None else {"aa_floor": floor})
