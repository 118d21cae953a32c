"""What all HTML pages are made with: the templates of this package, the styles and scripts beside
them, and Vega."""

import shlex
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from rmwbench import home
from rmwbench.errors import UserError
from rmwbench.whole_file import make_directory, write_whole


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


@cache
def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, for pages that need nothing else. Bundling
    takes two seconds of CPU and always gives the same, so the bundle is kept in the user's cache,
    by the version of what made it; it may be deleted at any time."""
    kept = _kept()
    if kept is not None:
        with suppress(OSError, UnicodeDecodeError):
            return kept.read_text(encoding="utf-8")
    import vl_convert

    # Its types do not know that the snippet has a default.
    bundle = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]
    if kept is not None:
        with suppress(UserError):  # a page needs no cache
            make_directory(kept.parent)
            write_whole(kept, bundle)
    return bundle


def _kept() -> Path | None:
    """The file of the bundle, whether it is there or not; None where there is no home."""
    try:
        return home.cache() / "vega" / f"{version('vl-convert-python')}.js"
    except UserError:
        return None
