"""What runs beside the workers of a trial, or is set for them, and is a question of its own: rosbag2's
recorder, the bring-up of lifecycle nodes, ROS variables.

A folder per feature. Nothing outside names one: who plans, runs or stores a trial asks all features
for their module of that step, and a feature has the
modules, and in them the functions, that it needs.

    keys.py   below `suite.workload`: KEY of a workload, KIND of its value, `check`
    cell.py   above `suite.cells`: `definition`, what the bundle stores of it; `may_silence`, whether
              hearing nothing may be right; `may_be_absent`, processes that need not come up
    plan.py   as `campaign.plan`: `missing`, why not here; `options` of a process's worker;
              `disk_bytes`, `check_memory`; `lines` of a plan
    trial.py  as `campaign.trial`: `running`, what lives beside the workers; `tidy` after them;
              `UNFINISHED`, files that a trial which was cut off leaves
    answer.py as `results`: the fields that are its part of the answer: `of_campaign`, `of_workload`,
              `charts`

Modules are loaded by their names, since a package that asked for them by imports would stand above
and below all of these floors at once.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from rmwbench.codes import Code

FEATURES = ("ros_variables", "bring_up", "recorder")
"""The folders, in the order in which a plan asks them."""


@cache
def parts(step: str) -> tuple[Any, ...]:
    """The modules of that name, of the features that have one."""
    names = (f"{__name__}.{feature}.{step}" for feature in FEATURES)
    return tuple(import_module(name) for name in names if find_spec(name) is not None)


def from_features(step: str, name: str, *arguments: Any) -> Iterator[Any]:
    """The answers of all features whose module of that step has a function of that name."""
    for part in parts(step):
        if (function := getattr(part, name, None)) is not None:
            yield function(*arguments)


class Broken(Exception):
    """A feature did not come up beside a trial, and costs the trial; the text says why."""

    code: Code


class FeatureRecord(Protocol):
    """What a feature leaves when its trial is over: rows of tables."""

    def counters(self) -> Iterator[dict[str, Any]]:
        """Rows of the table `counters`."""

    def columns(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """(table, its columns), as often as there are some."""
