"""What an RMW adds to its library: the primary metric of both, as installed, in every section that
has them. Native libraries are no candidates of a committee, since no node of ROS 2 can take one."""

from collections.abc import Iterator

from rmwbench.published.committee.report_parts import Report, SectionPart
from rmwbench.report.view import Block, Table, TableCell, Text
from rmwbench.results.compare.compare_document import compare
from rmwbench.results.compare.compare_model import MetricRow
from rmwbench.results.selection import select
from rmwbench.words import numbers as fmt

TITLE = "What the RMWs add to their libraries"
LIBRARIES = {
    "rclcpp/rmw_cyclonedds_cpp": "cyclonedds",
    "rclcpp/rmw_fastrtps_cpp": "fastdds",
    "rclcpp/rmw_zenoh_cpp": "zenoh",
}


def blocks(report: Report) -> Iterator[Block]:
    rows: list[list[TableCell | str]] = []
    for part in report.measured:
        for library, rmw in _pairs(part):
            rows += [_row(part, row) for row in _compared(report, part, library, rmw)]
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
    """(library, RMW), the arms of a section that set nothing."""
    plain = {
        arm.middleware: name for name, arm in part.arms.items() if not arm.sets and not arm.modes
    }
    for rmw, library in LIBRARIES.items():
        if rmw in plain and library in plain:
            yield plain[library], plain[rmw]


def _compared(report: Report, part: SectionPart, library: str, rmw: str) -> Iterator[MetricRow]:
    place = report.session.place(part.section)
    primary = {workload.name: workload.primary_metric for workload in part.answer.workloads}
    found = compare(
        select(f"{place}:arm={library}"),
        select(f"{place}:arm={rmw}"),
        metrics=tuple(dict.fromkeys(primary.values())),
    )
    yield from (row for row in found.rows if row.metric == primary.get(row.workload))


def _row(part: SectionPart, row: MetricRow) -> list[TableCell | str]:
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
