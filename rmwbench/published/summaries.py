"""The shipped summaries of measurements, `suites/published/SOURCE/measured/TIME-MACHINE.json`
(docs/formats/claims.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmwbench.codes import Code
from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input
from rmwbench.published.campaign import (
    CampaignArm,
    CampaignWorkload,
    MeasuredCampaign,
    Values,
    name_of,
)
from rmwbench.results.model import Estimate, Fact
from rmwbench.suite.file.suite_files import path_text, source_directory

FOLDER = "measured"
SCHEMA, VERSION = "rmwbench/measured", 1
METHOD = 2
"""The method by which a campaign was measured; only campaigns of this method are judged. Method 1,
which was not recorded, had a short drain that took slow messages for lost ones, divided costs by
messages that arrived after the window too, and repeated single trials instead of blocks."""


def shipped(source: str, directory: Path | None = None) -> list[dict[str, Any]]:
    """Return the summaries of a source as their files have them, the newest first. Raise UserError
    for any other file, and for what another method measured."""
    folder = (directory / source if directory else source_directory(source)) / FOLDER
    return [read(path) for path in sorted(folder.glob("*.json"), reverse=True)]


def read(path: Path) -> dict[str, Any]:
    """Return one file, as `shipped` does."""
    whats = ("this is not a summary of a measurement", "this summary is of another kind")
    summary = read_campaigns(path, (SCHEMA, VERSION), whats)
    methods = {campaign.get("method", 1) for campaign in summary["campaigns"]}
    if methods != {METHOD}:
        raise UserError(
            "this was measured by another method",
            where=str(path),
            expected=f"method {METHOD}",
            actual=", ".join(f"method {number}" for number in sorted(methods)),
            fix="measure it again; `rmwbench published claims run` says what is open without it",
        )
    return summary


def read_campaigns(
    path: Path, kind: tuple[str, int], whats: tuple[str, str], fix: str | None = None
) -> dict[str, Any]:
    """Return the document of a file of campaigns in this (schema, version). Raise UserError for any
    other file: `whats` are the texts for a file that is none, and for one of another kind."""
    try:
        document: dict[str, Any] = parse_json(read_input(path))
        own_kind = document["schema"], document["version"]
        if own_kind == kind:
            _ = document["campaigns"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(whats[0], where=path_text(path), actual=str(error)) from None
    if own_kind != kind:
        expected = f"{kind[0]} {kind[1]}"
        raise UserError(
            whats[1], where=path_text(path), expected=expected, actual=f"{own_kind}", fix=fix
        )
    return document


def campaigns_of(summary: Mapping[str, Any]) -> list[MeasuredCampaign]:
    return list(map(campaign_of, summary["campaigns"]))


def campaign_of(document: Mapping[str, Any]) -> MeasuredCampaign:
    """Return a campaign of which a part was kept, with the claims or with the questionnaire."""
    about, machine = document["campaign"], document["machine"]
    values = {name: value for name, value in machine.items() if name not in ("summary", "facts")}
    facts = [Fact(name=name, value=value, note=None) for name, value in values.items()]
    return MeasuredCampaign(
        name=about["name"],
        suite=about["suite"],
        title=about.get("title"),
        created_utc=about["created_utc"],
        seed=about.get("seed"),
        tool_version=about.get("tool_version"),
        blocks_complete=about.get("blocks_complete"),
        wall_s=about.get("wall_s"),
        machine=machine["summary"],
        facts=(*facts, *(Fact(**fact) for fact in machine.get("facts", ()))),
        workloads=tuple(map(_workload, document["workloads"])),
        shipped=True,
        titles={name: entry["title"] for name, entry in document.get("glossary", {}).items()},
    )


def _workload(workload: Mapping[str, Any]) -> CampaignWorkload:
    arms = tuple(map(_arm, workload["arms"]))
    return CampaignWorkload(
        workload=workload["workload"],
        name=name_of(workload["workload"], arms),
        arms=arms,
        steady_s=workload.get("steady_s"),
    )


def _arm(arm: Mapping[str, Any]) -> CampaignArm:
    whole = _values(arm)
    return CampaignArm(
        arm=arm["arm"],
        middleware=arm["middleware"],
        layer=arm["layer"],
        version=arm.get("version"),
        profile=arm.get("profile"),
        as_installed=arm.get("as_installed", False),
        release_date=arm.get("release_date"),
        is_floor=arm["layer"] == "floor",
        factors=arm["factors"],
        pair=arm.get("pair"),
        touch=arm.get("touch", "all"),
        not_supported=arm.get("not_supported"),
        machine_bound=arm.get("disturbed_by", {}).get(Code.MACHINE_BOUND, 0),
        spoilt_blocks=frozenset(arm.get("left_out", ())),
        lost_blocks=tuple(arm.get("lost_blocks", ())),
        silent_blocks=tuple(arm.get("silent_blocks", ())),
        metrics=whole.metrics,
        per_trial=whole.per_trial,
        topics={name: _values(values) for name, values in arm.get("topics", {}).items()},
        by_second={
            name: None if values is None else tuple((int(n), float(value)) for n, value in values)
            for name, values in arm.get("by_second", {}).items()
        },
    )


def _values(values: Mapping[str, Any]) -> Values:
    return Values(
        metrics={name: Estimate.of(estimate) for name, estimate in values["metrics"].items()},
        per_trial={
            name: {block: float(value) for block, value in pairs}
            for name, pairs in values.get("per_trial", {}).items()
        },
    )
