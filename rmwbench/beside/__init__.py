"""Features with a question of their own that run beside the workers of a trial, or are set for
them: rosbag2's recorder, the bring-up of lifecycle nodes, ROS variables.

Each feature is a folder, which no module outside names: each step of a campaign calls a function of
all features that have it. A feature has only the modules and functions that it needs:

    keys.py   below `suite.workload`: KEY of a workload, KIND of its value, `check`
    cell.py   above `suite.cells`: `definition`, its part of a cell in the bundle; `may_silence`,
              whether silence may be right; `may_be_absent`, processes that need not come up
    plan.py   as `campaign.plan`: `missing`, why it cannot run here; `options` of its worker;
              `disk_bytes`, `check_memory`; `lines` of a plan
    trial.py  as `campaign.trial`: `running`, a context beside the workers; `tidy` after them;
              `UNFINISHED`, a pattern of files that an interrupted trial leaves
    answer.py as `results`: its fields of the answer: `of_campaign`, `of_workload`, `charts`

The modules are loaded by their names, since this package would have to import layers both above and
below it.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from rmwbench.codes import Code

FEATURES = ("ros_variables", "bring_up", "recorder")
"""The folders, in the order in which a plan calls them."""


@cache
def parts(step: str) -> tuple[Any, ...]:
    """Return the modules of this name of all features that have one."""
    names = (f"{__name__}.{feature}.{step}" for feature in FEATURES)
    return tuple(import_module(name) for name in names if find_spec(name) is not None)


def from_features(step: str, name: str, *arguments: Any) -> Iterator[Any]:
    """Call a function of all features whose module of this step has it, and yield the results."""
    for part in parts(step):
        if (function := getattr(part, name, None)) is not None:
            yield function(*arguments)


class Broken(Exception):
    """A feature did not come up beside a trial, which fails by it; the text says why."""

    code: Code


class FeatureRecord(Protocol):
    """The records of a feature at the end of its trial, as rows of tables."""

    def counters(self) -> Iterator[dict[str, Any]]:
        """Yield rows of the table `counters`."""

    def columns(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield tables, each with its columns."""
