"""A trial that ended, into the bundle: its files by their content, its tables, its line in the
journal. The same for every kind of campaign, so that every kind leaves the same bundle."""

import time
from typing import cast

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.journal_lines import Status, TrialEnded, TrialReason
from rmwbench.campaign.course import SpoiltBlock
from rmwbench.campaign.trial.trial_life import TrialResult


def write_trial(
    writer: BundleWriter,
    result: TrialResult,
    repeats: int | None = None,
    spoilt: SpoiltBlock | None = None,
) -> None:
    """`repeats` is the number of the void trial whose place this one takes, `spoilt` what this one
    does to its block."""
    order = result.order
    tables = dict(result.tables)
    if result.files:
        digests = {name: writer.add_file(content) for name, content in result.files.items()}
        sizes = [len(content) for content in result.files.values()]
        rows = {
            "trial": order.trial,
            "name": list(digests),
            "sha256": list(digests.values()),
            "bytes": sizes,
        }
        tables["files"] = rows
    ended = TrialEnded(
        trial=order.trial,
        cell=order.cell.number,
        block=order.block,
        status=cast(Status, result.status),
        reason=result.reason,
        finished_utc=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        cause=result.cause,
        failed_by=result.failed_by,
        reasons=tuple(TrialReason(**reason.document()) for reason in result.reasons),
        repeats=repeats,
        again=None if spoilt is None else spoilt.again,
        voids=() if spoilt is None else spoilt.voids,
    )
    writer.finish_trial(ended, tables)
