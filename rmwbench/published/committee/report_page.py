"""A committee's report as one HTML file, made from its Markdown, and as a PDF, printed by a browser
of this machine."""

import base64
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from rmwbench.report.render.html import asset, environment
from rmwbench.whole_file import write_whole

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PRINT_TIMEOUT_S = 180


def write_html(markdown: Path, path: Path) -> None:
    """Write the page of a Markdown file to `path`. Its pictures are embedded; links to other files
    stay links."""
    write_whole(path, render(markdown.read_text(encoding="utf-8"), markdown.parent))


def render(text: str, directory: Path) -> str:
    """Return the page. HTML in the text stays text; relative pictures are read from `directory`."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    _inline_pictures(tokens, directory)
    contents = _number_headings(tokens)
    titles = (inline.content for token, inline in pairwise(tokens) if token.type == "heading_open")
    title = next(titles, "Report")
    body = parser.renderer.render(tokens, parser.options, {})
    body = body.replace("<table>", '<div class="wide"><table>').replace(
        "</table>", "</table></div>"
    )
    template = environment().get_template("committee.html.j2")
    style = Markup(asset("page.css") + asset("committee.css"))
    return template.render(title=title, style=style, contents=contents, body=Markup(body))


def browser() -> str | None:
    """Return the path of a browser that prints; None if there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def write_pdf(page: Path, path: Path, printer: str) -> str | None:
    """Print `page` to `path`. Return why that failed, or None. No file of the browser is left
    behind."""
    with tempfile.TemporaryDirectory(prefix="rmwbench-print-") as profile:
        command = [
            printer,
            "--headless",
            "--disable-gpu",
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
        ]
        # Chromium's own does not start for root
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        command += [f"--print-to-pdf={path}", page.resolve().as_uri()]
        running = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            _, errors = running.communicate(timeout=PRINT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            errors = f"it took more than {PRINT_TIMEOUT_S} s"
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
    if running.returncode == 0 and path.is_file():
        return None
    return (errors.strip().splitlines() or [f"exit code {running.returncode}"])[-1]


def _inline_pictures(tokens: Sequence[Token], directory: Path) -> None:
    for token in tokens:
        for child in token.children or ():
            source = child.attrs.get("src")
            if child.type == "image" and isinstance(source, str) and source.endswith(".svg"):
                data = base64.b64encode((directory / source).read_bytes()).decode()
                child.attrs["src"] = f"data:image/svg+xml;base64,{data}"


def _number_headings(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """Give the headings of the second level names to link to; return (name, text) of each."""
    headings: list[tuple[str, str]] = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            name = f"section-{len(headings) + 1}"
            token.attrs["id"] = name
            headings.append((name, "".join(child.content for child in inline.children or ())))
    return headings
