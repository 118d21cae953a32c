"""The original data, if it lies beside the checkout, imported once per kind and process.

The importers must reproduce published numbers, so nothing stands in for the data: without it these
tests skip and say so.
"""

import functools
import tempfile
from pathlib import Path

import pytest

from rmwbench.bundle import Bundle
from rmwbench.published.importers import import_published

DATA = Path(__file__).parents[3].parent / "shared" / "data"

_KEPT = tempfile.TemporaryDirectory(prefix="rmwbench-tests-imported-")


def path(*parts: str) -> Path:
    """Return a file or folder of the original data. The test is skipped if there is none."""
    place = DATA.joinpath(*parts)
    if not place.exists():
        pytest.skip(f"the original data is not here ({'/'.join(parts)}): nothing to compare with")
    return place


@functools.cache
def bundle(*parts: str) -> Bundle:
    """Return the bundle of the data. Its kind is recognised, as for a user."""
    out = Path(_KEPT.name) / "-".join(parts).replace("/", "-")
    import_published(path(*parts), out)
    return Bundle(out)


class Figures:
    """Points by (figure, series, x)."""

    def __init__(self, *parts: str):
        self.bundle = bundle(*parts)
        self.rows = self.bundle.rows("figures")
        self._by_key = {(r["figure"], r["series"], r["x"]): r for r in self.rows}
        assert len(self._by_key) == len(self.rows), "a point is there twice"

    def __getitem__(self, key: tuple[str, str, object]) -> dict:
        figure, series, x = key
        return self._by_key[figure, series, str(x)]

    def published(self, figure: str, series: str, x: object) -> float | None:
        return self[figure, series, x]["as_published"]

    def of(self, figure: str) -> list[dict]:
        return [r for r in self.rows if r["figure"] == figure]


@functools.cache
def figures(*parts: str) -> Figures:
    path(*parts)
    return Figures(*parts)
