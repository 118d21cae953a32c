"""Small valid suites: one to be broken by tests one place at a time, and one around a workload that
a test states."""

from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse
from rmwbench.suite.suite import Suite

GOOD = """\
suite: small
title: a small suite
blocks: {planned: 6, minimum: 5}
arms:
  - {name: a, middleware: floor}
  - {name: b, middleware: zenoh}
workloads:
  - name: w
    message: Bytes(320)
    rate_hz: 1000
    qos: {reliability: reliable}
    timeline: {steady_s: 1.0}
"""
ONE_ARM = """\
suite: mini
title: a test
blocks: {{planned: 2, minimum: 2}}
arms:
  - {{name: arm, {arm}}}
workloads:
  - {{name: w, {workload}}}
{more}"""


def one_arm(workload: str, arm: str = "middleware: floor", more: str = "") -> Suite:
    """A suite of one arm and one workload, of each the keys besides its name; `more`: lines behind
    them."""
    return parse(ONE_ARM.format(arm=arm, workload=workload, more=more), where="f.yaml")


def cells_of(workload: str, arm: str = "middleware: floor", more: str = "") -> list[Cell]:
    return cells(one_arm(workload, arm, more))


def edited(*changes: tuple[str, str], more: str = "") -> str:
    text = GOOD
    for before, after in changes:
        assert before in text, f"the test edits {before!r}, which the text does not have"
        text = text.replace(before, after, 1)
    return text + more


def suite(*changes: tuple[str, str], more: str = ""):
    return parse(edited(*changes, more=more), where="f.yaml")


def error(*changes: tuple[str, str], more: str = "") -> UserError:
    """The UserError that the edited suite gives; fails where it is accepted."""
    try:
        suite(*changes, more=more)
    except UserError as caught:
        return caught
    raise AssertionError("the suite was accepted")


def nodes(*lines: str) -> tuple[str, str]:
    """Spelled-out nodes for the workload, each line one node."""
    node_lines = "".join(f"      - {line}\n" for line in lines)
    return (
        "    timeline: {steady_s: 1.0}\n",
        f"    timeline: {{steady_s: 1.0}}\n    nodes:\n{node_lines}",
    )
