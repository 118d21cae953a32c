"""What a committee's report is of: the middlewares with version, release and build, and the machines
with the dates of their measurements."""

from collections.abc import Iterator

from rmwbench.bundle.campaign_json import DescribedMiddleware
from rmwbench.published.committee.report_parts import Report
from rmwbench.report.view import Block, Table
from rmwbench.results.answer.facts import names
from rmwbench.words import numbers as fmt

TITLE = "Versions, machines and dates"


def tables(report: Report) -> Iterator[Block]:
    """Each middleware once per version, then each machine."""
    found: dict[tuple[str, str | None], DescribedMiddleware] = {}
    sections: dict[tuple[str, str | None], int] = {}
    for part in report.measured:
        compared = {arm.middleware for arm in part.arms.values()}
        for one in part.middlewares:
            if one.middleware in compared:
                found.setdefault((one.middleware, one.version), one)
                sections[one.middleware, one.version] = (
                    sections.get((one.middleware, one.version), 0) + 1
                )
    rows = [
        (
            one.middleware,
            one.version or "not known",
            one.release_date or "not known",
            _build(one),
            str(sections[key]),
        )
        for key, one in sorted(
            found.items(), key=lambda item: (item[1].layer == "native", item[0][0])
        )
    ]
    yield Table(("middleware", "version", "released", "build", ("sections", True)), rows)
    yield Table(
        ("machine", "measured", ("sections", True), ("trials", True)), list(_machines(report))
    )


def _build(one: DescribedMiddleware) -> str:
    words = {name: value for name, value in one.build.items() if isinstance(value, str)}
    return "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in words.items())


def _machines(report: Report) -> Iterator[tuple[str, str, str, str]]:
    summaries = dict.fromkeys(part.answer.machine.summary for part in report.measured)
    for summary in summaries:
        parts = [part for part in report.measured if part.answer.machine.summary == summary]
        dates = dict.fromkeys(sorted(str(part.answer.campaign.created_utc)[:10] for part in parts))
        trials = sum(part.answer.campaign.trials.done for part in parts)
        yield (summary, names(list(dates)), str(len(parts)), fmt.significant_count(trials))
