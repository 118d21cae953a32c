"""A chart as a picture file. The library that draws ends the whole process on a text that XML
cannot hold, and what others wrote (names, titles) stands in charts."""

from typing import Any

from rmwbench.words.printable import printable


def svg_of(spec: dict[str, Any]) -> str:
    """A Vega-Lite specification as SVG, its texts without control codes."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(_drawable(spec)))


def _drawable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _drawable(item) for key, item in value.items()}
    return [_drawable(item) for item in value] if isinstance(value, (list, tuple)) else value
