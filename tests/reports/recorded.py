"""Campaigns of suites that people's reports led to, as they were recorded on two virtual
processors: `recorded/NAME.tar.xz`. Frames of links are thinned to 40 a trial, so nothing is asserted
of links."""

import tarfile
from functools import cache
from pathlib import Path

from rmwbench.bundle import Bundle
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import Levels, SuiteAnswer, WorkloadAnswer
from tests.support import kept

RECORDED = Path(__file__).parent / "recorded"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in RECORDED.iterdir())


def bundle(name: str, directory: Path) -> Path:
    def unpack(path: Path) -> None:
        with tarfile.open(RECORDED / f"{name}.tar.xz") as archive:
            archive.extractall(path.parent, filter="data")
        (path.parent / name).rename(path)

    return kept.copy(directory, unpack, name)


@cache
def answer(name: str) -> SuiteAnswer:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        return summarise(Bundle(bundle(name, Path(directory, name))))


def workload(name: str, called: str) -> WorkloadAnswer:
    return next(one for one in answer(name).workloads if one.workload == called)


def along(name: str, arm: str, topic: str | None = None) -> Levels:
    return next(one for one in answer(name).levels if (one.arm, one.topic) == (arm, topic))
