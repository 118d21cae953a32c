"""Whether two programs are the same one, by what they say of themselves."""

from collections.abc import Mapping

SHOWN = 40
"""Characters of a value in a sentence."""


def unlike(ours: Mapping[str, object] | None, theirs: Mapping[str, object] | None) -> str | None:
    """The names of what a program describes otherwise there than here; None where it describes the
    same."""
    ours, theirs = ours or {}, theirs or {}
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    return (
        ", ".join(
            f"{name} {_short(theirs.get(name))} instead of {_short(ours.get(name))}"
            for name in names
        )
        or None
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
