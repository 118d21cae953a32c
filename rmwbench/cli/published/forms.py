"""What the verbs below `published` share: the forms of an answer (a page, Markdown, the terminal's
tables), and reading the campaigns that `--campaign` names."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rmwbench.cli.console import print_view, say_written, write_page
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.published.campaign import MeasuredCampaign
    from rmwbench.report.view import View


def deliver(view: "View", path: Path | None = None, *, markdown: bool = False) -> None:
    """Write the view as a page to `path` and print the path; without a path print the view."""
    if path is not None:
        write_page(view, path)
        say_written(path)
    elif markdown:
        from rmwbench.report.render.markdown import render_markdown

        typer.echo(render_markdown(view), nl=False)
    else:
        print_view(view)


def require_one_form(forms: Mapping[str, object]) -> None:
    """Raises UserError if more than one of these options is given."""
    if sum(map(bool, forms.values())) > 1:
        raise UserError("one form at a time", where=", ".join(forms), expected="one of them")


def refuse_beside_save(choices: Mapping[str, object]) -> None:
    """Raises UserError if one of these options is given: `--save` writes the whole answer of the
    campaigns into a file that is named after them, and a part of it would replace the whole."""
    if options := [name for name, value in choices.items() if value]:
        names = ", ".join(options)
        raise UserError(
            "all that these campaigns say is saved, not a choice of it",
            where=names,
            fix=f"leave {names} out, or --save",
        )


def campaigns_in(
    directories: Iterable[Path], who: str, *, imported: str | None = None
) -> "list[MeasuredCampaign]":
    """Return the campaign in each directory, and of a directory that `rmwbench published claims
    run` made all campaigns, each with the ids of the claims that it was run for.

    Raises UserError for anything else. Its text names the kind of answer, `who`, in the plural;
    `imported` is its advice about a bundle that `rmwbench published import` made.
    """
    directories = list(directories)
    if not directories:
        return []  # without importing the modules that read a campaign
    from rmwbench.published.campaign import of_shown
    from rmwbench.published.claims.claims_session import campaigns, is_session
    from rmwbench.results.show_document import suite_answer

    measured_campaigns = []
    for directory in directories:
        ids_of_path: Mapping[Path, Sequence[str] | None] = (
            campaigns(directory) if is_session(directory) else {directory: None}
        )
        for path, ids in ids_of_path.items():
            measured_campaigns.append(of_shown(suite_answer(path, who, imported=imported), ids))
    return measured_campaigns
