"""A chart with the words beside it."""

from dataclasses import dataclass

from rmwbench.report.chart.charts import Spec


@dataclass(frozen=True)
class Figure:
    """A chart with its texts; `spec` is None where a sentence says it better; a `wide` one takes a
    row of its own; `narrow` is the variant for a phone, None where the chart adapts by itself."""

    key: str
    title: str
    reading: str
    spec: Spec | None
    wide: bool = False
    narrow: Spec | None = None
