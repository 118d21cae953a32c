"""The model of `suites/remedies.yaml`: known remedies, by symptom and middleware."""

from functools import cache
from typing import Annotated

import yaml
from pydantic import Field

from rmwbench.analysis.causes.symptoms import Symptom
from rmwbench.suite.fault import Strict
from rmwbench.suite.file.suite_files import REMEDIES_FILE, read, suites_directory


class Worth(Strict):
    """A figure that we measured, and the document that has it."""

    figure: str
    where: str


class Remedy(Strict):
    """A known remedy. `middlewares`: those that it is for, any if empty. `arm`: the candidate that
    has it; `setting`: in words; both None if none is known. `source`: the manual of a version,
    quoted. `one_host`: it is of no use between hosts."""

    symptom: Annotated[Symptom, Field(strict=False)]
    middlewares: Annotated[tuple[str, ...], Field(strict=False)] = ()
    arm: str | None = None
    setting: str | None = None
    source: str
    worth: Worth | None = None
    one_host: bool = False


class AsInstalled(Strict):
    """The defaults of a middleware, which hold if its configuration does not set them."""

    segment_bytes: int
    heartbeat_ms: int


class RemediesFile(Strict):
    """The whole file. `as_installed`: middleware -> its defaults."""

    as_installed: dict[str, AsInstalled] = Field(default_factory=dict)
    remedies: Annotated[tuple[Remedy, ...], Field(strict=False)]

    def remedy(self, symptom: Symptom, middleware: str, *, one_host: bool) -> Remedy | None:
        """Return the first remedy that suits; None if none is known."""
        return next(
            (
                r
                for r in self.remedies
                if r.symptom is symptom
                and (not r.middlewares or middleware in r.middlewares)
                and (one_host or not r.one_host)
            ),
            None,
        )


@cache
def known_remedies() -> RemediesFile:
    """Return the shipped remedies, read without the checks that a user's file needs, since every
    `show` waits for them."""
    written = yaml.load(read(suites_directory() / REMEDIES_FILE), Loader=yaml.CSafeLoader)
    return RemediesFile.model_validate(written)
