"""Vega as one script, for pages that need nothing else. Bundling takes two seconds of CPU and
always gives the same, so the bundle is kept in the user's cache, by the version of what made it; it
may be deleted at any time."""

import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.whole_file import make_directory, write_whole


@cache
def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as JavaScript."""
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
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return home / "rmwbench" / "vega" / f"{version('vl-convert-python')}.js"
