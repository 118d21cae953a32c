"""Repositories from files: what `--save` wrote, lists that `gh api` fetched, or the tables of the
2020 evaluation.

A path is a directory with one directory per repository, `OWNER+NAME/`, each part of it in a JSON
file of its name (`issues.json`, `commits.json`, …) as GitHub's API answers; a directory of such
tables; or a single `OWNER+NAME/`.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError, did_you_mean
from rmwbench.input_file import name_of, read_text
from rmwbench.published.community.github.client import PARTS, Raw, parse, stamp, trimmed
from rmwbench.published.community.github.project import Project, ProjectItem, digest
from rmwbench.whole_file import write_whole

OBJECTS = ("repository", "languages", "collected")
"""Parts that are one object. The others are lists; `contributors` may also be their number."""


def save(raw: Raw, directory: Path) -> Path:
    """Write the raw answers about a repository below `directory` and return the new directory."""
    place: Path = directory / raw["collected"]["name"].replace("/", "+")
    place.mkdir(parents=True, exist_ok=True)
    for part, answer in raw.items():
        write_whole(place / f"{part}.json", json.dumps(answer, ensure_ascii=False))
    return place


def load(
    directory: Path, since: datetime | None = None, names: tuple[str, ...] = ()
) -> list[Project]:
    """Return the repositories in a directory, only those of `names` if given, from the cutoff on
    (otherwise from the cutoff that each was collected with). Raise UserError if nothing is there or
    a file is not what its name says."""
    if not directory.is_dir():
        raise UserError("no such directory", where=str(directory))
    inside = sorted(p for p in directory.iterdir() if not p.name.startswith("."))
    if any(p.suffix == ".csv" for p in inside):
        projects = _tables(directory, since)
    else:
        places = [p for p in inside if p.is_dir() and any(p.glob("*.json"))] or [directory]
        projects = [digest(_raw(place, since), str(place)) for place in places]
    missing = [name for name in names if name.lower() not in {p.name.lower() for p in projects}]
    if missing:
        saved_names = ", ".join(p.name for p in projects)
        raise UserError(
            "not among the saved repositories",
            where=missing[0],
            expected=saved_names,
            actual=missing[0],
        )
    named_projects = [
        p for p in projects if not names or p.name.lower() in {n.lower() for n in names}
    ]
    for project in named_projects:
        if since is not None and since >= project.until:
            raise UserError(
                "the saved data ends before the window begins",
                where=project.source,
                expected=f"--since before {project.until:%Y-%m-%d}",
                actual=f"{since:%Y-%m-%d}",
                fix="collect it again without --from",
            )
    return named_projects


def _raw(place: Path, since: datetime | None) -> Raw:
    raw: Raw = {}
    for path in sorted(place.glob("*.json")):
        if path.stem not in PARTS and path.stem != "collected":
            raise UserError(
                "not a part of a saved repository",
                where=str(path),
                expected=", ".join(f"{part}.json" for part in PARTS),
                fix=did_you_mean(path.stem, PARTS),
            )
        raw[path.stem] = _check_part(path, _read(path))
    if not any(isinstance(raw.get(part), list) for part in ("issues", "pulls")):
        raise UserError(
            "no saved repository here",
            where=str(place),
            expected="issues.json or pulls.json with what GitHub's API answers (all pages)",
        )
    raw["collected"] = _window(place, raw, since)
    return trimmed(raw)


def _window(place: Path, raw: Raw, since: datetime | None) -> dict[str, str]:
    """Return name, cutoff and end. Lists that another tool fetched do not say when: their newest
    time is the end."""
    about = raw.get("collected") or {}
    items = raw["issues"] if isinstance(raw.get("issues"), list) else raw["pulls"]
    name = (
        about.get("name")
        or (raw.get("repository") or {}).get("full_name")
        or name_of(place).replace("+", "/", 1)
    )
    try:
        times = [
            parse(e[k])
            for e in items
            for k in ("created_at", "updated_at", "closed_at")
            if e.get(k)
        ]
        opened = [parse(e["created_at"]) for e in items]
        until = parse(about["until"]) if "until" in about else max(times, default=datetime.now(UTC))
        begin = parse(about["since"]) if "since" in about else min(opened, default=until)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            "not what GitHub's API answers",
            where=str(place),
            actual=f"{type(error).__name__}: {error}",
        ) from None
    if since is not None and "since" in about and since < begin:
        raise UserError(
            "the saved data does not reach that far back",
            where=str(place),
            expected=f"--since {begin:%Y-%m-%d} or later",
            actual=f"{since:%Y-%m-%d}",
            fix="collect it again without --from",
        )
    return {"name": name, "since": stamp(since or begin), "until": stamp(until)}


def _read(path: Path) -> Any:
    """Return the content of a JSON file; several lists after one another, as `gh api --paginate`
    prints pages, become one list."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read: {error}", where=str(path)) from None
    decoder, documents, at = json.JSONDecoder(), [], 0
    while at < len(text):
        at += len(text[at:]) - len(text[at:].lstrip())
        if at >= len(text):
            break
        try:
            document, at = decoder.raw_decode(text, at)
        except ValueError as error:
            line = text.count("\n", 0, getattr(error, "pos", at)) + 1
            raise UserError(
                "not whole JSON",
                where=f"{path}:{line}",
                expected="what GitHub's API answered",
                actual=str(error),
            ) from None
        documents.append(document)
    if not documents:
        raise UserError("an empty file", where=str(path), expected="what GitHub's API answered")
    if len(documents) == 1:
        return documents[0]
    if not all(isinstance(d, list) for d in documents):
        raise UserError(
            "several documents that are not lists",
            where=str(path),
            expected="one, or pages of a list",
        )
    return [entry for page in documents for entry in page]


def _check_part(path: Path, answer: Any) -> Any:
    if isinstance(answer, dict) and "no_data" in answer:
        return answer
    part = path.stem
    if part == "contributors" and isinstance(answer, list):
        return len(answer)
    kind = dict if part in OBJECTS else int if part == "contributors" else list
    rows = answer if part != "code_frequency" and kind is list else []
    if not isinstance(answer, kind) or not all(isinstance(entry, dict) for entry in rows):
        raise UserError(
            f"not GitHub's {part}",
            where=str(path),
            expected="an object" if kind is dict else "a list of objects",
            actual=str(answer)[:80],
        )
    return answer


def _tables(directory: Path, since: datetime | None) -> list[Project]:
    """Return the repositories of the tables of 2020 (docs/importers.md), which have times to close,
    no responses, and commits that paging cut."""
    from rmwbench.published.importers.data_source import Source
    from rmwbench.published.importers.formats import github_csv

    repositories = github_csv.repositories(Source(directory))
    until = datetime.fromtimestamp(github_csv.newest(repositories.values()), UTC)
    projects = []
    for stem, repository in repositories.items():
        pulls = repository.closings()
        merged = {n for n, (_, seconds, _) in repository.pulls.items() if seconds is not None}
        rows = [(n, True, *row) for n, row in pulls.items()]
        if repository.has_pulls:  # else nobody can tell the pull requests among the issues
            rows += [(n, False, *row) for n, row in repository.issues.items() if n not in pulls]
        begin = since or min((row[2] for row in rows), default=until)
        project = Project(repository.name or stem, str(directory), begin, until)
        for number, pull, opened, seconds, state in rows:
            closed = None if seconds is None else opened + timedelta(seconds=seconds)
            if opened >= begin:
                project.items.append(
                    ProjectItem(
                        number=number,
                        pull=pull,
                        opened=opened,
                        closed=closed,
                        merged=number in merged and pull,
                        closed_unknown=state == "closed" and closed is None,
                    )
                )
        project.missing = dict.fromkeys(PARTS, "not in these tables")
        if repository.has_pulls:
            del project.missing["pulls"], project.missing["issues"]
        if not repository.has_issues:
            project.missing["issues"] = "the table of issues is not here"
        project.missing["commits"] = "the counts are whole pages (multiples of 60): paging cut them"
        projects.append(project)
    return projects
