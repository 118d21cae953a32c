"""What every test process begins with: a state directory of its own, because a calibration found in
the user's would change reports, Ctrl-C as in a terminal, because what a background shell starts
ignores it and hands that on, and compiled modules that are kept, because hundreds of processes
import the same ones; and no property has a deadline."""

import gc
import os
import signal
import sys
import tempfile
from functools import partial

import pytest
from hypothesis import HealthCheck, settings

from rmwbench.lab.host.hosts import why_not_own
from tests.support import kept
from tests.support.starved import Watch

_STATE = tempfile.TemporaryDirectory(prefix="rmwbench-tests-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name
# tests ask what was done; that a noisy machine voids has tests of its own
os.environ["RMWBENCH_SPOILT"] = "keep"
# the Makefile says how hints are typed; tests look for the plain name
os.environ.pop("RMWBENCH_COMMAND", None)
# with it every start compiles what it imports: a second and more
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A busy machine halts any example for longer than Hypothesis allows, and makes drawing slow.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
kept.begin()
kept.flush_nothing()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_WATCH = pytest.StashKey[Watch]()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The one way to say that a test needs namespaces: `@pytest.mark.own_host`. In a container it
    is skipped and counted; where namespaces can be made nothing is."""
    if item.get_closest_marker("own_host") and (broken := why_not_own()):
        pytest.skip(f"no host with namespaces of its own can be made here: {broken}")


def pytest_collection_finish() -> None:
    """What was imported and collected lives until the end: no collection looks at it again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Libraries look at the end for what was never freed, and would name what is frozen."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test of real traffic is run once more where the machine is proved to have starved it, and
    in no other case."""
    for item in items:
        if _is_real(item):
            item.add_marker(pytest.mark.flaky(reruns=1, condition=partial(_starved, item)))


def pytest_xdist_auto_num_workers() -> int:
    """How many tests of `traffic` run at a time: they mostly wait. Without namespaces of its own,
    one trial would hear another's messages."""
    return 1 if why_not_own() else 4


def _is_real(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("timing", "traffic"))


def _starved(item: pytest.Item) -> bool:
    watch = item.stash.get(_WATCH, None)
    return watch is not None and watch.starved()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    if not _is_real(item):
        return (yield)
    watch = item.stash[_WATCH] = Watch().start()
    try:
        return (yield)
    finally:
        watch.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    watch = item.stash.get(_WATCH, None)
    if report.failed and watch is not None:
        report.sections.append(("the machine", watch.evidence()))
    return report
