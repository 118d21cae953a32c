"""The charts of the figures document as pictures to be taken away (SVG and PNG)."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmwbench.published.figures.figure_charts import for_export, specs
from rmwbench.published.figures.figure_words import origins, words
from rmwbench.report.chart.style import svg_of
from rmwbench.whole_file import make_directory, write_whole


def write_pictures(doc: dict[str, Any], directory: Path) -> list[Path]:
    """Every chart as SVG and PNG into a directory; the files."""
    import vl_convert

    make_directory(directory)
    files = []
    for source in doc["sources"]:
        for figure in source["figures"]:
            for number, part in enumerate(figure["parts"]):
                for place, (title, spec) in enumerate(specs(part, legend=True)):
                    heading = ": ".join(x for x in (figure["title"], part["title"], title) if x)
                    card = [
                        f"{source['title']} ({source['published']}), {figure['place']}",
                        *_card(part),
                    ]
                    name = _file_name(
                        f"{source['source']}-{figure['id']}-{number + 1}{'-' + title if title else ''}"
                    )
                    svg = svg_of(for_export(spec, heading, card))
                    if not place or title:
                        files += [directory / f"{name}.svg", directory / f"{name}.png"]
                    write_whole(files[-2], svg)
                    write_whole(files[-1], vl_convert.svg_to_png(svg, scale=1.5))
    return files


def _card(part: Mapping[str, Any]) -> list[str]:
    texts = [
        f"{version}: {text}"
        for version, text in words(part)
        if version != "measured" and len(text) < 120
    ]
    texts += [f"measured: {text}" for text in origins(part["measured"])]
    return [" · ".join(texts)] if texts else []


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-").lower()
