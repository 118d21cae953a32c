"""What an imported bundle says: where it comes from, what its original could not tell, which
errors it has, and its figures as published beside as corrected.

An imported bundle has no records, so the metrics of a campaign would all be `no data`; they are
named with the reason instead.

python -m rmwbench.published.imported imported      prints the JSON Schema of its document
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rmwbench.bundle import Bundle
from rmwbench.words.fields import absent, exact


@dataclass(frozen=True, kw_only=True)
class ImportedCampaign:
    """Where the bundle lies."""

    name: str | None
    directory: str


@dataclass(frozen=True, kw_only=True)
class ImportedSource:
    """What was read: the digest is over names, lengths and contents in order. `checked`: files that
    agree with a list of checksums."""

    name: str
    files: int
    sha256: str | None = absent()
    skipped: tuple[str, ...] | None = absent()
    checked: int | None = absent()


@dataclass(frozen=True, kw_only=True)
class MissingMetric:
    """A metric that the original has no data for, and why."""

    metric: str
    no_data: str


@dataclass(frozen=True, kw_only=True)
class KnownError:
    """What the original did wrong; `figures` is the prefix of the names of those that it
    touches."""

    name: str
    text: str
    figures: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class Original:
    """What was imported, as which kind, by which version of its parser."""

    kind: str
    title: str
    parser: int | None = absent()
    source: ImportedSource
    limits: tuple[MissingMetric, ...]
    errors: tuple[KnownError, ...]


@dataclass(frozen=True, kw_only=True)
class FigureSummary:
    """A figure in numbers of points: those that were `published`, those whose corrected value is
    another (`changed`), and those without one (`no_data`)."""

    figure: str
    unit: str
    points: int
    published: int
    changed: int
    no_data: int


@dataclass(frozen=True, kw_only=True)
class Point:
    """Of a published figure. A value is null where the original never showed it, or where the data
    cannot tell; `note` then says why."""

    figure: str
    series: str
    x: str
    unit: str
    as_published: float | None = exact()
    as_corrected: float | None = exact()
    count: int | None
    note: str | None


@dataclass(frozen=True, kw_only=True)
class ImportedBundle:
    """What was imported, and its figures point by point."""

    schema: Literal["rmwbench/imported"] = "rmwbench/imported"
    version: Literal[1] = 1
    campaign: ImportedCampaign
    imported: Original
    cells: int
    trials: int
    windows: int
    summary: tuple[FigureSummary, ...]
    figures: tuple[Point, ...]


def summarise(bundle: Bundle) -> ImportedBundle:
    """What an imported bundle says (docs/importers.md)."""
    points = tuple(Point(**row) for row in bundle.rows("figures"))
    return ImportedBundle(
        campaign=ImportedCampaign(name=bundle.campaign.campaign, directory=str(bundle.directory)),
        imported=_original(bundle.campaign.imported or {}),
        cells=len(bundle.rows("cells")),
        trials=len(bundle.trials()),
        windows=bundle.table("windows", columns=["trial"]).num_rows,
        summary=_summary(points),
        figures=points,
    )


def _original(found: Mapping[str, Any]) -> Original:
    source = found["source"]
    return Original(
        kind=found["kind"],
        title=found["title"],
        parser=found.get("parser"),
        source=ImportedSource(
            name=source["name"],
            files=source["files"],
            sha256=source.get("sha256"),
            skipped=None if source.get("skipped") is None else tuple(source["skipped"]),
            checked=source.get("checked"),
        ),
        limits=tuple(MissingMetric(**one) for one in found["limits"]),
        errors=tuple(KnownError(**one) for one in found["errors"]),
    )


def _summary(points: Iterable[Point]) -> tuple[FigureSummary, ...]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in points:
        found = counts.setdefault((one.figure, one.unit), Counter())
        published, corrected = one.as_published, one.as_corrected
        found["points"] += 1
        found["published"] += published is not None
        found["no_data"] += corrected is None
        if published is not None and corrected is not None:
            found["changed"] += not _same(published, corrected)
    names = ("points", "published", "changed", "no_data")
    return tuple(
        FigureSummary(figure=figure, unit=unit, **{name: found[name] for name in names})
        for (figure, unit), found in counts.items()
    )


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))


DOCUMENTS: Mapping[str, Any] = {"imported": ImportedBundle}

if __name__ == "__main__":
    from rmwbench.results.answer_schema import main

    main(DOCUMENTS)
