"""What a campaign shows, as its JSON document and back."""

from typing import Any

from pydantic import TypeAdapter

from rmwbench.bundle import Bundle
from rmwbench.results.model import document
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import SuiteAnswer
from rmwbench.suite.limits import LimitsFile

_READ = TypeAdapter(SuiteAnswer)


def show_document(bundle: Bundle, limits: LimitsFile | None = None) -> dict[str, Any]:
    """As `rmwbench show --json` prints it (docs/formats/show.md)."""
    return document(summarise(bundle, limits))


def shown_of(written: dict[str, Any]) -> SuiteAnswer:
    """A document that a test has made or changed, as the answer that a report renders."""
    return _READ.validate_python(written)


def workload_of(written: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in written["workloads"] if one["workload"] == name)


def arm_of(written: dict[str, Any], workload: str, name: str) -> dict[str, Any]:
    return next(one for one in workload_of(written, workload)["arms"] if one["arm"] == name)
