"""A directory of several campaigns that are run for one question, and the file in it that says what
was asked for: what `rmwbench published claims run` and `rmwbench published report -o` have in
common."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input
from rmwbench.whole_file import make_directory, write_whole

T = TypeVar("T")


@dataclass(frozen=True)
class StateFile:
    """The file `name` of a directory of `verb`, in one version of one schema."""

    name: str
    verb: str
    schema: str
    version: int

    def is_in(self, directory: Path) -> bool:
        return (directory / self.name).is_file()

    def save(self, directory: Path, state: Mapping[str, Any]) -> None:
        document = {"schema": self.schema, "version": self.version, **state}
        write_whole(directory / self.name, json.dumps(document, indent=1) + "\n")

    def load(self, directory: Path, make: Callable[[dict[str, Any]], T]) -> T:
        """The object that `make` builds from the state, without its schema and version. Raises
        UserError where the file is not one of ours."""
        path = directory / self.name
        try:
            document = parse_json(read_input(path))
            if document.pop("schema") != self.schema or document.pop("version") != self.version:
                raise ValueError("another schema or version")
            return make(document)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(
                f"this is not a directory of `{self.verb}`", where=str(path), actual=str(error)
            ) from None


def check_empty(directory: Path, what: str, fix: str) -> None:
    """Raises UserError with the texts `what` and `fix` where the directory holds anything."""
    if directory.is_dir() and any(directory.iterdir()):
        raise UserError(what, where=str(directory), fix=fix)


def make_empty(directory: Path, what: str, fix: str) -> None:
    """Makes the directory. Raises UserError where it cannot be made, and as `check_empty`."""
    check_empty(directory, what, fix)
    make_directory(directory)
