"""A suite's report as the only claim of a source of its own, so that it is judged, kept and shown
as any claim is."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest
from rmwbench.suite.file.candidate_list import layer_of
from rmwbench.suite.file.load import load, parse
from rmwbench.suite.file.suite_files import shipped_suites, suite_file
from rmwbench.suite.predicate import Reported
from rmwbench.suite.suite import Suite

FOLDER = "reports"
"""The folder of the shipped suites that each show what one report is about."""


@dataclass(frozen=True)
class PublicReport:
    """`suite` is what `rmwbench run` takes; `needs_ros`: all of its arms run on ROS 2."""

    suite: str
    title: str
    reported: Reported
    claims: Claims
    needs_ros: bool

    @property
    def name(self) -> str:
        return self.suite.rpartition("/")[2]

    @property
    def claim(self) -> Claim:
        return self.claims.items[0]


def shipped_reports() -> list[PublicReport]:
    """Return one report for each suite of FOLDER, by name."""
    names = [name for name in shipped_suites() if name.startswith(f"{FOLDER}/")]
    reports = (_report(name, load(suite_file(name))) for name in names)
    return [report for report in reports if report is not None]


@lru_cache(maxsize=8)
def report_of(text: str, directory: Path) -> PublicReport | None:
    """Return the report in the text of a suite; None if it has none, or if this version, or this
    machine with its middlewares, cannot read the suite."""
    from rmwbench.lab.middleware import names_here

    try:
        suite = parse(text, where="suite", directory=directory, middlewares=names_here())
    except UserError:
        return None
    return _report(suite.suite, suite)


def _report(name: str, suite: Suite) -> PublicReport | None:
    reported = suite.reported
    if reported is None:
        return None
    layers = {arm.name: layer_of(arm.middleware) for arm in suite.arms}
    tests = [ClaimTest(suite=suite.suite, **seen.set_values()) for seen in reported.seen]
    layer = layers[tests[0].left]
    claim = Claim(
        id=re.sub("[^a-z0-9.-]", "-", name.rpartition("/")[2].casefold()),
        heading=reported.source,
        says=reported.effect,
        kind="comparison",
        inferred=f"reported in {reported.source}",
        test=tests[0],
        also=tuple(tests[1:]),
    )
    claims = Claims(
        claims=FOLDER,
        title=suite.title,
        published=reported.source,
        text=reported.link,
        layer=layer,
        sides={arm: (arm,) for arm in layers},
        items=(claim,),
    )
    needs_ros = all(layer in ("rclcpp", "rclpy") for layer in layers.values())
    return PublicReport(name, suite.title, reported, claims, needs_ros)
