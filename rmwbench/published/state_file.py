"""A directory of several campaigns that are run for one question, and the file in it that says what
was asked for. `rmwbench published claims run` and `rmwbench published report -o` both use it."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input
from rmwbench.whole_file import write_whole

T = TypeVar("T")


@dataclass(frozen=True)
class StateFile:
    """The file `name` in a directory of `verb`, in one version of one schema."""

    name: str
    verb: str
    schema: str
    version: int

    def is_in(self, directory: Path) -> bool:
        return (directory / self.name).is_file()

    def save(self, session: Any) -> None:
        """Write the fields of a dataclass into its `directory`."""
        state = asdict(session)
        directory = state.pop("directory")
        document = {"schema": self.schema, "version": self.version, **state}
        write_whole(directory / self.name, json.dumps(document, indent=1) + "\n")

    def load(self, directory: Path, make: Callable[[dict[str, Any]], T]) -> T:
        """Return the object that `make` builds from the state, without its schema and version.
        Raise UserError if the file is not such a file."""
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


def require_empty(directory: Path, what: str, fix: str) -> None:
    """Raise UserError with the texts `what` and `fix` if the directory holds anything."""
    if directory.is_dir() and any(directory.iterdir()):
        raise UserError(what, where=str(directory), fix=fix)
