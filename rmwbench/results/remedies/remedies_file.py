"""What is known to help, by symptom and middleware: `suites/remedies.yaml`, as a model."""

from functools import cache
from typing import Annotated

import yaml
from pydantic import Field

from rmwbench.analysis.causes.symptoms import Symptom
from rmwbench.suite.fault import Strict
from rmwbench.suite.file.places import REMEDIES_FILE, read, suites_directory


class Worth(Strict):
    """A figure that we measured, and the document where it stands."""

    figure: str
    where: str


class Remedy(Strict):
    """`middlewares`: those that it is for, any where empty. `arm`: the candidate that has it;
    `setting`: in words; neither where nothing is known. `source`: the manual of a version, quoted.
    `one_host`: of no use between hosts."""

    symptom: Annotated[Symptom, Field(strict=False)]
    middlewares: Annotated[tuple[str, ...], Field(strict=False)] = ()
    arm: str | None = None
    setting: str | None = None
    source: str
    worth: Worth | None = None
    one_host: bool = False


class AsInstalled(Strict):
    """What a middleware has where its configuration does not speak of it."""

    segment_bytes: int
    heartbeat_ms: int


class RemediesFile(Strict):
    """`as_installed`: by middleware."""

    as_installed: dict[str, AsInstalled] = Field(default_factory=dict)
    remedies: Annotated[tuple[Remedy, ...], Field(strict=False)]

    def remedy(self, symptom: Symptom, middleware: str, *, one_host: bool) -> Remedy | None:
        """The first that is for it; None where nothing is written down."""
        return next(
            (
                one
                for one in self.remedies
                if one.symptom is symptom
                and (not one.middlewares or middleware in one.middlewares)
                and (one_host or not one.one_host)
            ),
            None,
        )


@cache
def known_remedies() -> RemediesFile:
    """What is shipped, read without what a user's file needs: every `show` waits for it."""
    written = yaml.load(read(suites_directory() / REMEDIES_FILE), Loader=yaml.CSafeLoader)
    return RemediesFile.model_validate(written)
