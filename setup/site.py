"""Hooks of MkDocs for `make site` (mkdocs.yml): the README is the first page, pages that programs
write are added, and so are files of the repository to which pages link, so that every link works
without the network."""

import posixpath
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README, INDEX = "README.md", "index.md"
FILES = "files"
"""The folder of the site for files from outside of docs/."""
PYTHON = ROOT / ".venv" / "bin" / "python"
"""MkDocs' own environment has no rmwbench."""
WRITTEN = {
    "claims.md": ("rmwbench", "published", "claims", "--markdown"),
    "questionnaire.md": ("rmwbench", "published", "questionnaire", "--markdown"),
    "reports.md": ("rmwbench", "suites", "reports", "--markdown"),
    **{
        f"formats/{name}.schema.json": ("rmwbench.results.answer_schema", name)
        for name in ("calibration", "capacity", "compare", "decide", "explain", "show")
    },
    "formats/imported.schema.json": ("rmwbench.published.imported", "imported"),
    "formats/check.schema.json": ("rmwbench.robot.robot_schema", "check"),
}
"""Page of the site that is not in the repository -> the module, with its arguments, that prints
it."""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]+)(#[^)]*)?\)")


def place(path: str) -> str | None:
    """Return the path in the site of a file of the repository, None for any other path."""
    if path == README:
        return INDEX
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{FILES}/{path}" if (ROOT / path).is_file() else None


def rewritten(text: str, page: str) -> tuple[str, list[str]]:
    """Return the text of a page (its path in the repository) with links as the site has them, and the
    files from outside of docs/ to which it links. A link to a directory becomes plain text."""
    linked_files: list[str] = []
    here = posixpath.dirname(place(page) or "")

    def link(match: re.Match[str]) -> str:
        mark, words, to, anchor = match[1], match[2], match[3], match[4] or ""
        if "://" in to or to.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), to))
        target = place(path)
        if target is None or (ROOT / path).is_dir():
            return words
        if target.startswith(f"{FILES}/"):
            linked_files.append(path)
        return f"{mark}[{words}]({posixpath.relpath(target, here or '.')}{anchor})"

    return LINK.sub(link, text), linked_files


def written(name: str) -> str:
    """Return a page of `WRITTEN` as its program prints it."""
    command = [PYTHON, "-m", *WRITTEN[name]]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def on_files(files: Any, config: Any) -> Any:
    """Add the first page, the pages that programs write, and the files to which pages link."""
    from mkdocs.structure.files import File

    readme = (ROOT / README).read_text()
    files.append(File.generated(config, INDEX, content=readme))
    pages = {README: readme}
    for name in WRITTEN:
        files.append(File.generated(config, name, content=written(name)))
    for file in files.documentation_pages():
        if file.src_uri != INDEX and file.src_uri not in WRITTEN:
            pages[f"docs/{file.src_uri}"] = Path(file.abs_src_path).read_text()
    for path in dict.fromkeys(
        path for page, text in pages.items() for path in rewritten(text, page)[1]
    ):
        files.append(File.generated(config, f"{FILES}/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the page with links as the site has them."""
    path = README if page.file.src_uri == INDEX else f"docs/{page.file.src_uri}"
    return rewritten(markdown, path)[0]
