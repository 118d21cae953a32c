"""`rmwbench published`: the verbs about published evaluations, and the next committee's report."""

import typer

from rmwbench.cli.console import PlainGroup
from rmwbench.cli.published import (
    claims,
    committee_report,
    community,
    figures_verb,
    import_,
    questionnaire,
)


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        cls=PlainGroup,
        no_args_is_help=True,
        help="Published evaluations: their data, claims and figures, checked; the next report.",
    )
    for verb in (claims, figures_verb, import_, questionnaire, community, committee_report):
        verb.register(group)
    app.add_typer(group, name="published")
