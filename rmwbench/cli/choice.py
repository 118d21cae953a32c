"""`--candidates`, `--with` and `--without`, what the command line says of a suite's arms, and `--at`,
of the levels of its factors: the same for every verb that plans or runs."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rmwbench.suite.file.candidate_list import Choice


def complete_candidate(incomplete: str) -> list[str]:
    """Names of candidates and sets that begin so; the shell adds files by itself."""
    from rmwbench.suite.file.candidates_file import known_candidates

    return [name for name in known_candidates().names if name.startswith(incomplete)]


WHICH = (
    "A candidate, a set (`rmwbench candidates` lists both) or your own file of candidates; "
    "may be repeated."
)
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidates",
        metavar="SET|FILE",
        help=f"Compare these instead of the suite's arms; its floor stays. {WHICH}",
        autocompletion=complete_candidate,
    ),
]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME",
        help=f"Compare these besides. {WHICH}",
        autocompletion=complete_candidate,
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="NAME",
        help="Leave this arm of the suite out, or those of this set; may be repeated.",
        autocompletion=complete_candidate,
    ),
]
At = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="FACTOR=LEVEL",
        help="Only this level of a factor, such as network.loss=0.1; may be repeated.",
    ),
]


def by_option(
    candidates: list[str] | None, added: list[str] | None, without: list[str] | None
) -> dict[str, list[str] | None]:
    """By option, for verbs that say which options do not go together."""
    return {"--candidates": candidates, "--with": added, "--without": without}


def choice(
    candidates: list[str] | None, added: list[str] | None, without: list[str] | None
) -> "Choice":
    from rmwbench.suite.file.candidate_list import Choice

    return Choice(tuple(candidates or ()), tuple(added or ()), tuple(without or ()))
