"""A view as one HTML file, which contains its styles, scripts, Vega and all data; and the parts of
all HTML pages: the templates of this package, the styles and scripts beside them, and Vega.

A content security policy in each page forbids every request, and every script except those written
here (by their hash), so a page is harmless even where a middleware's log contains markup. Jinja
escapes all texts; in JSON for scripts each `<` is an escape, because `</script>` ends a script in a
string, too."""

import base64
import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rmwbench import home
from rmwbench.errors import UserError
from rmwbench.report import view as shown
from rmwbench.report.chart import style
from rmwbench.report.render.markdown import pictures
from rmwbench.report.view import Block, On, Picture, Section, TableCell, TableColumn, View
from rmwbench.whole_file import make_directory, write_whole
from rmwbench.words import numbers as fmt


def write_html(view: View, path: Path | str) -> None:
    """Write the page to `path`: some 3 MB where it has charts, otherwise some 100 kB."""
    write_whole(path, render_html(view))


def render_html(view: View) -> str:
    """The page as text; the template escapes all texts that others wrote."""
    charts = [
        picture
        for picture in pictures((*view.about, *view.answer, *view.sections), On.PAGE)
        if picture.spec is not None
    ]
    places = {id(picture): place for place, picture in enumerate(charts)}
    return render_page(
        "view.html.j2",
        [_spec(picture) for picture in charts],
        view=view,
        filters=FILTERS,
        place=lambda picture: places.get(id(picture)),
        named=[section for section in _sections((*view.answer, *view.sections)) if section.nav],
    )


def _spec(picture: Picture) -> dict[str, Any]:
    """A chart with both its variants, which draw the same rows: the page has the rows once."""
    wide, narrow = (
        None if chart is None else {key: value for key, value in chart.items() if key != "datasets"}
        for chart in (picture.spec, picture.narrow)
    )
    return {"datasets": (picture.spec or {})["datasets"], "wide": wide, "narrow": narrow}


def _sections(blocks: Iterable[Block]) -> list[Section]:
    sections = [block for block in blocks if isinstance(block, Section) and On.PAGE in block.on]
    return [inner for section in sections for inner in (section, *_sections(section.blocks))]


def _visible(
    columns: Sequence[TableColumn], cells: Sequence[Any]
) -> list[tuple[TableColumn, TableCell]]:
    """Return the columns of a page, each with its cell in a row; two columns may have one title."""
    pairs = zip(columns, cells, strict=False)
    return [(column, shown.cell(value)) for column, value in pairs if On.PAGE in column.on]


FILTERS: dict[str, Callable[..., Any]] = {
    "visible": _visible,
    "cell": shown.cell,
    "row": shown.row,
    "column": shown.column,
    "kind": lambda block: type(block).__name__,
    "on_page": lambda block: On.PAGE in block.on,
}


def environment() -> Environment:
    """Return the Jinja environment: all values are escaped, and an unknown name is an error."""
    templates = Environment(
        loader=PackageLoader("rmwbench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["shell"] = shlex.quote  # readers copy commands, and names contain spaces
    return templates


def asset(name: str) -> str:
    """Return a file of `templates/` as text."""
    return files("rmwbench.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script. Bundling takes two seconds of CPU and
    always gives the same script, so the user's cache keeps it by the version of the bundler; the
    file may be deleted at any time."""
    cached = _bundle_file()
    if cached is not None:
        with suppress(OSError, UnicodeDecodeError):
            return cached.read_text(encoding="utf-8")
    import vl_convert

    # The type stubs lack the default of the snippet.
    bundle = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]
    if cached is not None:
        with suppress(UserError):  # a page needs no cache
            make_directory(cached.parent)
            write_whole(cached, bundle)
    return bundle


def _bundle_file() -> Path | None:
    """Return the path of the bundle, which need not exist; None without a home directory."""
    try:
        return home.cache() / "vega" / f"{version('vl-convert-python')}.js"
    except UserError:
        return None


def render_page(
    template: str,
    specs: list[dict[str, Any]],
    filters: Mapping[str, Callable[..., Any]],
    **context: Any,
) -> str:
    """Return a page from a template of this package. The template gets the styles, the scripts,
    Vega, the charts' `specs`, the hashes that allow these scripts and no others, `fmt`, `charts`
    (whether the page has charts), and the filters `commands` and `ink`."""
    templates, inks = _of_pages(), _inks()
    templates.filters |= filters
    script_of_vega = vega().replace("</script", r"<\/script") if specs else ""
    script = asset("page.js") + asset("claims.js")
    return templates.get_template(template).render(
        style=Markup(asset("page.css") + _colours()),
        vega=Markup(script_of_vega),
        script=Markup(script),
        specs=_json(specs),
        inks=_json(inks),
        script_hashes=" ".join(f"'{_csp_hash(text)}'" for text in (script_of_vega, script) if text),
        charts=bool(specs),
        fmt=fmt,
        **context,
    )


def fragment(template: str, **context: Any) -> str:
    """Return a part of such a page as markup."""
    return _of_pages().get_template(template).render(fmt=fmt, **context)


def _of_pages() -> Environment:
    templates, inks = environment(), _inks()
    templates.filters["commands"] = _commands
    templates.filters["ink"] = inks.__getitem__
    templates.filters["part"] = lambda kind: inks[style.part(kind)]
    return templates


def _inks() -> dict[str, str]:
    return {light: f"var(--ink-{number})" for number, light in enumerate(style.to_dark())}


def _commands(text: str) -> Markup:
    """Return a sentence with its commands set as code."""
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if command else part
        for part, command in fmt.commands(text)
    )


def _colours() -> str:
    """Return the colours of charts and swatches as variables `--ink-N`, light and dark."""
    light, dark = (
        "".join(f"--ink-{n}:{colour};" for n, colour in enumerate(colours))
        for colours in zip(*style.to_dark().items(), strict=True)
    )
    return (
        f":root{{{light}}}\n"
        "@media screen and (prefers-color-scheme: "
        f"dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"
    )


def _json(value: Any) -> Markup:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(
        text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def _csp_hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
