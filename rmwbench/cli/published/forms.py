"""A view in the form that was asked for: a page, Markdown, or the terminal's."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rmwbench.cli.console import print_view, say_written
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.published.campaign import MeasuredCampaign
    from rmwbench.report.view import View


def deliver(view: "View", path: Path | None = None, *, markdown: bool = False) -> None:
    """Writes the page to `path` and names it where there is one; else prints the view."""
    if path is not None:
        from rmwbench.report.render.html import write_html

        write_html(view, path)
        say_written(path)
    elif markdown:
        from rmwbench.report.render.markdown import render_markdown

        typer.echo(render_markdown(view), nl=False)
    else:
        print_view(view)


def require_one_form(forms: Mapping[str, object]) -> None:
    """Raises UserError where more than one of these options is given."""
    if sum(map(bool, forms.values())) > 1:
        raise UserError("one form at a time", where=", ".join(forms), expected="one of them")


def refuse_beside_save(choices: Mapping[str, object]) -> None:
    """Raises UserError where one of these is given: `--save` keeps all that campaigns say. The file
    is named after them, and a part of it would take the place of the whole."""
    if given := [name for name, value in choices.items() if value]:
        names = ", ".join(given)
        raise UserError(
            "all that these campaigns say is saved, not a choice of it",
            where=names,
            fix=f"leave {names} out, or --save",
        )


def campaigns_in(
    directories: Iterable[Path], who: str, *, imported: str | None = None
) -> "list[MeasuredCampaign]":
    """The campaign of each directory; of one that `rmwbench published claims run` made all of them,
    with the ids of the claims that each was run for. Raises UserError for anything else.

    `who` wants them, in the plural; `imported` says what to do with what `rmwbench published
    import` made."""
    directories = list(directories)
    if not directories:
        return []  # and nothing is imported that reads a campaign
    from rmwbench.published.campaign import of_shown
    from rmwbench.published.claims.campaign.claims_session import campaigns, is_session
    from rmwbench.results.suite_document import suite_answer

    measured_campaigns = []
    for directory in directories:
        if is_session(directory):
            for path, ids in campaigns(directory).items():
                measured_campaigns.append(of_shown(suite_answer(path, who, imported=imported), ids))
        else:
            measured_campaigns.append(of_shown(suite_answer(directory, who, imported=imported)))
    return measured_campaigns
