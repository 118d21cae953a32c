"""What `rmwbench explain` says, one entry per arm of a workload: from the same show document as
every report."""

from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.results.measure import Small
from rmwbench.results.show import summarise
from rmwbench.results.tails import tails

KEYS = ("arm", "cell", "trials", "path", "notes", "losses", "tails", "chain", "layers")


def explanations(bundle: Bundle, trial: int | None = None) -> list[dict[str, Any]]:
    """`workload` and KEYS of each arm, as in the show document, and its `topics`. With `trial` only
    of its arm, and the tails of that trial. Raises UserError for a trial that is not there or was
    not done."""
    found = [
        {"workload": w["workload"], **{key: arm[key] for key in KEYS}, "topics": _topics(w, place)}
        for w in summarise(bundle)["workloads"]
        for place, arm in enumerate(w["arms"])
    ]
    if trial is None:
        return found
    line = next((x for x in bundle.trials() if x.trial == trial), None)
    if line is None or line.status != "done":
        why = (
            "the campaign has no such trial"
            if line is None
            else f"it is {line.status}: {line.reason}"
        )
        raise UserError(f"trial {trial} cannot be explained", where="--trial", actual=why)
    of = next((one for one in found if one["cell"] == line.cell), None)
    if of is None:
        why = "its cell tells which ROS variables are obeyed: no latency of it is judged"
        raise UserError(
            f"trial {trial} cannot be explained",
            where="--trial",
            actual=why,
            fix="`rmwbench show` has it",
        )
    return [of | {"tails": tails(bundle, line, Small(bundle))}]


def _topics(workload: dict[str, Any], place: int) -> list[dict[str, Any]]:
    """Of the arm at that place, each topic with its latencies, what was lost, and its verdict."""
    return [
        {
            "topic": topic["topic"],
            **{key: topic["arms"][place][key] for key in ("qos", "metrics", "verdict")},
        }
        for topic in workload["topics"]
    ]
