"""The appendix of a committee's report: the middlewares with version, release and build, the
machines with the dates of their measurements, and what the RMWs cost."""

from collections import Counter
from collections.abc import Iterator

from rmwbench.bundle.campaign_json import DescribedMiddleware
from rmwbench.published.committee.report_parts import Report, SectionPart
from rmwbench.report.view import Block, Table, TableCell, Text
from rmwbench.results.answer.facts import names
from rmwbench.results.compare.compare_document import compare
from rmwbench.results.compare.compare_model import MetricRow
from rmwbench.results.selection import select
from rmwbench.words import numbers as fmt

VERSIONS_TITLE = "Versions, machines and dates"
NOT_OF_THE_BUILD = ("profile_variable", "release_date_is")
"""Facts that a worker gives beside its build, and that are of no use to a reader who chooses."""


def versions(report: Report) -> Iterator[Block]:
    """Yield a table with each version of each middleware, then a table of the machines."""
    middlewares: dict[tuple[str, str | None], DescribedMiddleware] = {}
    sections: Counter[tuple[str, str | None]] = Counter()
    for part in report.measured:
        compared = {arm.middleware for arm in part.arms.values()}
        for middleware in part.middlewares:
            if middleware.middleware in compared:
                key = middleware.middleware, middleware.version
                middlewares.setdefault(key, middleware)
                sections[key] += 1
    rows = [
        (
            key[0],
            _version(middleware),
            middleware.release_date or "not known",
            _build_text(middleware),
            str(sections[key]),
        )
        for key, middleware in sorted(
            middlewares.items(), key=lambda item: (item[1].layer == "native", item[0][0])
        )
    ]
    yield Table(("middleware", "version", "released", "build", ("sections", True)), rows)
    yield Table(
        ("machine", "measured", ("sections", True), ("trials", True)), list(_machines(report))
    )


def _version(middleware: DescribedMiddleware) -> str:
    """Return the version; that of an RMW begins with its client library's name: `rclcpp 28.1.21
    rmw_zenoh_cpp 0.2.10`."""
    if middleware.version is None:
        return "not known"
    is_library = middleware.layer in ("rclcpp", "rclpy")
    return f"{middleware.layer} {middleware.version}" if is_library else middleware.version


def _build_text(middleware: DescribedMiddleware) -> str:
    facts = {
        name: value
        for name, value in middleware.build.items()
        if isinstance(value, str) and name not in NOT_OF_THE_BUILD
    }
    return "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items())


def _machines(report: Report) -> Iterator[tuple[str, str, str, str]]:
    summaries = dict.fromkeys(part.answer.machine.summary for part in report.measured)
    for summary in summaries:
        parts = [part for part in report.measured if part.answer.machine.summary == summary]
        dates = dict.fromkeys(sorted(str(part.answer.campaign.created_utc)[:10] for part in parts))
        trials = sum(part.answer.campaign.trials.done for part in parts)
        yield (summary, names(list(dates)), str(len(parts)), fmt.significant_count(trials))


COSTS_TITLE = "What the RMWs add to their libraries"
LIBRARIES = {
    "rclcpp/rmw_cyclonedds_cpp": "cyclonedds",
    "rclcpp/rmw_fastrtps_cpp": "fastdds",
    "rclcpp/rmw_zenoh_cpp": "zenoh",
}


def costs(report: Report) -> Iterator[Block]:
    rows: list[list[TableCell | str]] = []
    for part in report.measured:
        for library, rmw in _pairs(part):
            rows += [_cost_row(part, row) for row in _metric_rows(report, part, library, rmw)]
    if not rows:
        yield Text("No section has an RMW and its library beside each other.")
        return
    yield Text(
        "The RMW divided by its library, both as installed, in the primary metric of each "
        "workload: interval, and whether it is decided. Their versions may differ (page of "
        "versions)."
    )
    yield Table(("section: cell", "metric", "library", "RMW", "ratio", "verdict"), rows)


def _pairs(part: SectionPart) -> Iterator[tuple[str, str]]:
    """Yield (library, RMW): the arms of a section that set nothing."""
    arm_as_installed = {
        arm.middleware: name
        for name, arm in part.arms.items()
        if not arm.has_settings and not arm.modes
    }
    for rmw, library in LIBRARIES.items():
        if rmw in arm_as_installed and library in arm_as_installed:
            yield arm_as_installed[library], arm_as_installed[rmw]


def _metric_rows(report: Report, part: SectionPart, library: str, rmw: str) -> Iterator[MetricRow]:
    place = report.session.place(part.section)
    primary = {workload.name: workload.primary_metric for workload in part.answer.workloads}
    comparison = compare(
        select(f"{place}:arm={library}"),
        select(f"{place}:arm={rmw}"),
        metrics=tuple(dict.fromkeys(primary.values())),
    )
    yield from (row for row in comparison.rows if row.metric == primary.get(row.workload))


def _cost_row(part: SectionPart, row: MetricRow) -> list[TableCell | str]:
    where = row.cell.rpartition(", ")[0] or row.cell
    topic = f", {row.topic}" if row.topic else ""
    return [
        f"{part.section.title}: {where}{topic}",
        row.title,
        row.arm_a,
        row.arm_b,
        fmt.ratio(row.ratio).full,
        str(row.verdict),
    ]
