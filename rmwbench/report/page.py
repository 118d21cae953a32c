"""What all HTML pages are made with: the templates of this package, and the styles and scripts
beside them."""

import shlex
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment() -> Environment:
    """Everything that a template is given is escaped, and a name that it was not given is an
    error."""
    made = Environment(
        loader=PackageLoader("rmwbench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shell"] = shlex.quote  # a command is there to be copied: names have spaces
    return made


def asset(name: str) -> str:
    """A file of `templates/` as text."""
    return files("rmwbench.report").joinpath("templates", name).read_text(encoding="utf-8")
