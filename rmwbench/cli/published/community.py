"""`rmwbench published community github|rep2004|survey|admission`: facts about projects and their
users that are not performance."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import Out, PlainGroup, page, print_answer
from rmwbench.cli.options import json_option, parse_duration_s, with_options
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.published.community.github.project import Project

Json = Annotated[bool, json_option("Print the document (docs/community.md).")]
Report = Annotated[Path | None, typer.Option("--report", hidden=True)]
"""The earlier name of `--out`, which is still accepted."""


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        cls=PlainGroup,
        no_args_is_help=True,
        help="GitHub engagement, REP-2004 declarations, user surveys.",
    )
    group.command(
        help="How projects respond: their pull requests, issues and activity, or their git history."
    )(with_options(github))
    group.command(help="Quality declarations item by item, packages side by side.")(
        with_options(rep2004)
    )
    group.command(help="A survey on an ordered scale, or a blank form.")(with_options(survey))
    group.command(help="The bar for a report: tier, licence, protocol, with evidence.")(admission)
    app.add_typer(group, name="community")


@dataclass(frozen=True, kw_only=True)
class GithubOptions:
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[OWNER/NAME[=DIR]…]",
            help="Repositories. With =DIR, a clone or bare git directory, its history is read and "
            "no server is asked; what only GitHub knows (pull requests, issues, responses, stars) "
            "is then no data.",
        ),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            metavar="180d|DATE",
            help="Only what was opened since then; without --from 180d if absent. In a git history "
            "days are counted back from its newest commit, at which the window ends.",
        ),
    ] = None
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="DIR", help="Saved answers or the tables of 2020; asks no server."
        ),
    ] = None
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the answers for --from.")
    ] = None
    people: Annotated[
        bool, typer.Option("--people", help="Leave out what bots opened or committed.")
    ] = False
    reviews: Annotated[
        bool,
        typer.Option("--reviews", help="Ask for reviews too: a request for each pull request."),
    ] = False
    max_wait: Annotated[
        str, typer.Option(metavar="TIME", help="The longest wait for a rate limit.")
    ] = "2m"
    api: Annotated[str, typer.Option(metavar="URL", help="Another server's API.")] = (
        "https://api.github.com"
    )
    out: Out = None
    report: Report = None
    as_json: Json = False


def github(options: GithubOptions) -> None:
    from rmwbench.published.community.github.engagement import measure
    from rmwbench.published.community.github.engagement_view import view

    path = page(options.out, options.report)
    begin = None if options.since is None else _since(options.since)
    if options.source is not None:
        if options.save is not None or options.reviews:
            raise UserError(
                "--from asks no server, so there is nothing to save or to ask",
                where="--save, --reviews",
            )
        if read := next((name for name in options.names or () if "=" in name), None):
            raise UserError(
                "--from reads saved answers, and this is a git history",
                where=read,
                expected="one of the two",
            )
        from rmwbench.published.community.github.saved import load

        projects = load(
            options.source, None if begin is None else _moment(begin), tuple(options.names or ())
        )
    else:
        projects = _collect(options, _since("180d") if begin is None else begin)
    print_answer(
        measure(projects, people_only=options.people),
        view,
        as_json=options.as_json,
        page=path,
        page_view=lambda engagement: view(engagement, draw=True),
    )


def _collect(options: GithubOptions, since: datetime | timedelta) -> "list[Project]":
    """Return the projects in the order of their names, read from git if a directory is named, else
    from the API. Each answer of the API is saved as soon as it is whole."""
    from rmwbench.published.community.github import history
    from rmwbench.published.community.github.client import ApiClient, collect
    from rmwbench.published.community.github.project import digest
    from rmwbench.published.community.github.saved import save

    directory_of = _directories(options.names or [])
    if (options.save is not None or options.reviews) and None not in directory_of.values():
        raise UserError(
            "git is read, and no server is asked, so there is nothing to save",
            where="--save, --reviews",
        )

    def notify(text: str) -> None:
        typer.echo(text, err=True)

    token = os.environ.get("GITHUB_TOKEN") or None
    max_wait_s = parse_duration_s(options.max_wait, "--max-wait")
    client = ApiClient(options.api, token, max_wait_s=max_wait_s, notify=notify)
    projects = []
    begin = _moment(since)
    for name, directory in directory_of.items():
        if directory is not None:
            projects.append(history.load(name, Path(directory), since))
            continue
        raw = collect(client, name, begin, reviews=options.reviews, notify=notify)
        if options.save is not None:
            notify(f"{raw['collected']['name']}: saved to {save(raw, options.save)}")
        projects.append(digest(raw, client.base))
    return projects


def _directories(names: list[str]) -> dict[str, str | None]:
    """Return repository -> its git directory, None if the API is asked. Raises UserError for words
    that name no repository."""
    if not names:
        raise UserError(
            "no repository named",
            expected="OWNER/NAME, OWNER/NAME=DIR with its git directory, or --from DIR",
            fix="rmwbench published community github ros2/rcl",
        )
    parts = [name.partition("=") for name in dict.fromkeys(names)]
    directory_of = {name: directory if equals else None for name, equals, directory in parts}
    if len(directory_of) < len(parts):
        raise UserError("a repository is named twice, from different places", where=" ".join(names))
    for name, directory in directory_of.items():
        if directory == "":
            raise UserError(
                "no directory after the name", where=f"{name}=", expected="OWNER/NAME=DIR"
            )
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", name, re.ASCII) or name.rpartition("/")[2] in (
            ".",
            "..",
        ):
            raise UserError(
                "not a repository", where=name, expected="OWNER/NAME, for example ros2/rmw_zenoh"
            )
    return directory_of


def _moment(since: datetime | timedelta) -> datetime:
    """Return the time `since`, or the time that long before now."""
    return since if isinstance(since, datetime) else datetime.now(UTC) - since


def _since(text: str) -> datetime | timedelta:
    """Return the date, or the length of time before now, that a text names."""
    try:
        if text.endswith("d") and text[:-1].isdigit():
            length = timedelta(days=int(text[:-1]))
            _moment(length)  # OverflowError for a length beyond the calendar
            if length:
                return length
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            if moment <= datetime.now(UTC):
                return moment
    except (ValueError, OverflowError):
        pass
    raise UserError(
        "not a time in the past",
        where=f"--since {text}",
        expected="days (180d) or a date (2020-04-20)",
    )


@dataclass(frozen=True, kw_only=True)
class Rep2004Options:
    documents: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE…",
            help="Declarations in Markdown or reStructuredText, or directories of git repositories, "
            "to see whether they have one.",
        ),
    ]
    date: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]DATE", help="When a document was written, if git does not know."
        ),
    ] = None
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Print the words and links too (the page has them).")
    ] = False
    without_words: Annotated[
        bool,
        typer.Option(
            "--without-words", help="With --json: leave out the sentences that were quoted."
        ),
    ] = False
    out: Out = None
    report: Report = None
    as_json: Json = False


def rep2004(options: Rep2004Options) -> None:
    from rmwbench.published.community.rep2004.side_by_side import compare, view

    path = page(options.out, options.report)
    sources: list[tuple[str | None, Path]] = []
    for text in options.documents:
        name, equals, file = text.partition("=")
        has_name = equals and not Path(text).exists()
        sources.append((name, Path(file)) if has_name else (None, Path(text)))
    comparison = compare(sources, _days(options.date or (), [file for _, file in sources]))
    print_answer(
        comparison.without_words() if options.without_words else comparison,
        lambda answer: view(answer, evidence=options.evidence),
        as_json=options.as_json,
        page=path,
        page_view=lambda answer: view(answer, evidence=True),
    )


def _days(dates: Sequence[str], paths: Sequence[Path]) -> dict[str, str]:
    """Return document (by its name or path) -> its day. Raises UserError for a day that is no date
    or belongs to no document."""
    days: dict[str, str] = {}
    for text in dates:
        name, equals, day = text.rpartition("=")
        if not equals and len(paths) > 1:
            raise UserError(
                "which document?",
                where=f"--date {text}",
                expected="NAME=YYYY-MM-DD, once per document",
            )
        try:
            days[name or str(paths[0])] = date.fromisoformat(day).isoformat()
        except ValueError:
            raise UserError(
                "not a date", where=f"--date {text}", expected="YYYY-MM-DD", actual=day
            ) from None
    return days


@dataclass(frozen=True, kw_only=True)
class SurveyOptions:
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.csv", help="Answers, a row per person.")
    ] = None
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that groups people (a part of its name)."),
    ] = None
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Two groups to compare; the largest if absent."),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(metavar="LOWEST,…,HIGHEST", help="The scale, if it is not a known one."),
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A question; all that look like one if absent."),
    ] = None
    form: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a blank form there and end.")
    ] = None
    out: Out = None
    report: Report = None
    as_json: Json = False


def survey(options: SurveyOptions) -> None:
    if options.form is not None:
        from rmwbench.published.community.survey_file import write_form

        for written in write_form(options.form):
            typer.echo(str(written))
        return
    if options.file is None:
        raise UserError("no answers to read", expected="FILE.csv, or --form DIR for a blank form")
    path = page(options.out, options.report)
    from rmwbench.published.community.survey_analysis import analyse
    from rmwbench.published.community.survey_file import (
        parse_scale,
        published_figures,
        read,
        survey_file,
    )
    from rmwbench.published.community.survey_view import view

    item = survey_file(options.file)
    answers = read(
        item,
        scale=parse_scale(options.scale) if options.scale else None,
        columns=options.column or (),
        group_by=options.group,
    )
    print_answer(
        analyse(answers, options.compare, published_figures(item, options.file)),
        view,
        as_json=options.as_json,
        page=path,
        page_view=lambda result: view(result, draw=True),
    )


def admission(
    file: Annotated[
        Path | None, typer.Argument(metavar="CANDIDATES.yaml", help="Ours, if absent.")
    ] = None,
    rep_2000: Annotated[
        Path | None,
        typer.Option(
            "--rep-2000", metavar="FILE.rst", help="REP-2000's text: tiers come from its tables."
        ),
    ] = None,
    distribution: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The ROS 2 distribution; the newest in REP-2000 if absent."
        ),
    ] = None,
    out: Out = None,
    report: Report = None,
    as_json: Json = False,
) -> None:
    from rmwbench.published.community.admission import OURS, judge, view

    path = page(out, report)
    admissions = judge(file or OURS, rep_2000, distribution)
    print_answer(admissions, view, as_json=as_json, page=path)
