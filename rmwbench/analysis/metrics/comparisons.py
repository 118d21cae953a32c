"""Which cells are compared with each other: as the plan says, or those of equal workload and
factors where a bundle has no plan."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.records.columns import Row
from rmwbench.errors import UserError, nearest

PRIMARY = "response_latency_p50"


@dataclass(frozen=True)
class Comparison:
    """A `workload` at its `levels`, both of which are in its name, with the rows of the `cells`
    that are compared. `labels`: cell -> the arm's name, made unique where a comparison has an arm
    twice."""

    name: str
    workload: str
    levels: Mapping[str, Any]
    title: str
    description: str
    primary_metric: str
    cells: Sequence[Row]
    labels: Mapping[int, str]


class AnyComparison(Protocol):
    """A comparison as the plan has it."""

    @property
    def comparison(self) -> str: ...

    @property
    def cells(self) -> Sequence[int]: ...

    @property
    def title(self) -> str | None: ...

    @property
    def description(self) -> str | None: ...

    @property
    def primary_metric(self) -> str | None: ...


def comparisons(plan: Iterable[AnyComparison], cells: Sequence[Row]) -> list[Comparison]:
    """The plan's comparisons in its order; cells that the plan names in none of them follow. Cells
    with ROS variables are left out: their silence may be right. Raises UserError for an unknown
    metric."""
    by_number = {c["cell"]: c for c in cells if is_compared(c)}
    groups: dict[str, tuple[AnyComparison | None, list[Row]]] = {}
    for planned in plan:
        planned_rows = [by_number.pop(n) for n in planned.cells if n in by_number]
        if planned_rows:
            groups[planned.comparison] = (planned, planned_rows)
    for cell in by_number.values():
        factors = ", ".join(f"{k}={v}" for k, v in json_column(cell["factors"]).items())
        name = f"{cell['workload']} [{factors}]" if factors else cell["workload"]
        groups.setdefault(name, (None, []))[1].append(cell)
    return [
        _comparison(name, planned, planned_rows) for name, (planned, planned_rows) in groups.items()
    ]


def is_compared(cell: Row) -> bool:
    """Whether arms are compared in the cell."""
    return has_verdicts(json_column(cell["definition"]))


def has_verdicts(definition: Mapping[str, Any]) -> bool:
    """Whether arms are compared in a cell with this definition. A cell with ROS variables only
    shows which nodes hear each other."""
    return not definition.get("ros_variables")


def is_floor(cell: Row) -> bool:
    """Whether the cell's arm is the floor, to which contenders are compared, and no contender
    itself."""
    arm = json_column(cell["definition"]).get("arm") or {}
    return bool(arm.get("role", "floor" if cell["layer"] == "floor" else "contender") == "floor")


def is_reliable(endpoints: Iterable[Row]) -> bool:
    """Whether reliable delivery was granted to all of these endpoints (rows of `endpoints`), or
    asked for where the grant is not known. Endpoints without either are skipped; False where no
    endpoint has either. A pair with one best-effort end may lose messages, even if the other end is
    reliable."""
    values = {value for endpoint in endpoints if (value := _qos(endpoint).get("reliability"))}
    return values == {"reliable"}


def history_depth(endpoint: Row) -> int | None:
    """The depth of an endpoint's history, granted or asked for; None for keep all, or where it is
    not known."""
    qos = _qos(endpoint)
    return qos.get("depth") if qos.get("history") == "keep_last" else None


def _qos(endpoint: Row) -> Any:
    """An endpoint's QoS as granted, or as asked for."""
    return (
        json_column(endpoint["granted"]).get("qos")
        or json_column(endpoint["asked"]).get("qos")
        or {}
    )


@lru_cache(maxsize=4096)  # endpoints of 5 000 trials have a hundred texts between them
def json_column(text: str | None) -> Any:
    """The value of a JSON column, which callers share and must not change; {} where the text is
    absent or is not JSON."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return {}


def arrival_of(endpoint: Row) -> Any:
    """The arrival process that an endpoint (a row of `endpoints`) was asked for; empty where it is
    not known."""
    return json_column(endpoint.get("asked")).get("arrival") or {}


def relays(endpoint: Row) -> bool:
    """Whether an endpoint sends what its node receives."""
    return bool(arrival_of(endpoint).get("kind") == "relay")


def focus_of(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """The topics, services and readers whose messages a cell's latencies and losses are measured
    on; empty for all."""
    workload = definition.get("workload")
    return tuple(workload.get("focus") or ()) if isinstance(workload, Mapping) else ()


def in_focus(endpoints: Iterable[Row], definition: Mapping[str, Any]) -> list[Row]:
    """The rows of `endpoints` that are in focus, all without a focus. A topic brings all its
    endpoints into it; a reader, named by its node, its subscriptions and their writers."""
    focus, rows = focus_of(definition), list(endpoints)
    if not focus:
        return rows
    read = {r["topic"] for r in rows if r["kind"] == "subscription" and r["node"] in focus}
    return [
        row
        for row in rows
        if row["topic"] in focus
        or (row["topic"] in read and (row["kind"] != "subscription" or row["node"] in focus))
    ]


def _comparison(name: str, planned: AnyComparison | None, cells: list[Row]) -> Comparison:
    again = Counter(c["arm"] for c in cells)
    primary = (planned and planned.primary_metric) or PRIMARY
    if primary not in GLOSSARY:
        near = nearest(primary, GLOSSARY)
        raise UserError(
            f"workload {name} is to be judged by a metric that does not exist",
            where="campaign.json",
            actual=primary,
            fix=f"{f'was it {near}? ' if near else ''}a newer rmwbench may know it",
        )
    labels = {
        c["cell"]: c["arm"] if again[c["arm"]] == 1 else f"{c['arm']} (cell {c['cell']})"
        for c in cells
    }
    return Comparison(
        name,
        cells[0]["workload"],
        json_column(cells[0]["factors"]),
        (planned and planned.title) or name,
        (planned and planned.description) or "",
        primary,
        cells,
        labels,
    )
