"""The shipped suites with their titles. Only the title of each file is read: all of every suite
takes seconds."""

from dataclasses import dataclass

from ruamel.yaml import YAML

from rmwbench.suite.file.load import read, shipped_suites, suite_file


@dataclass(frozen=True)
class Listed:
    """`name` is what `rmwbench run` takes."""

    name: str
    title: str


def listed() -> list[Listed]:
    return [Listed(name, _title(name)) for name in shipped_suites()]


def _title(name: str) -> str:
    """The entry `title` of the file, from its key to the next one of the same level."""
    lines = read(suite_file(name)).split("\n")
    begin = next(n for n, line in enumerate(lines) if line.startswith("title:"))
    rest = lines[begin + 1 :]
    end = next((n for n, line in enumerate(rest) if line and not line[0].isspace()), len(rest))
    return str(YAML(typ="safe").load("\n".join([lines[begin], *rest[:end]]))["title"])
