"""The build farm of the TSC report of 2021; the format is in build_farm.py."""

from rmwbench.published.importers.formats.build_farm import build_farm
from rmwbench.published.importers.published import Published
from rmwbench.published.importers.source.data_source import Source, SourceFile

YEAR = 2021


def recognises(item: SourceFile) -> bool:
    return build_farm.year(item) == YEAR


def read(source: Source, out: Published) -> None:
    """A cell and a trial per row or one-line file."""
    build_farm.read(source, out, YEAR)
