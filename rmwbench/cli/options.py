"""Options that several verbs have, and `taking`, by which a verb gets its options as one object.

`--candidates`, `--with`, `--without` and `--profile` are what the command line says of a suite's arms, `--network`
of what lies between its hosts, `--at` of the levels of its factors: the same for every verb that plans or runs."""

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.campaign.plan.request import Request
    from rmwbench.suite.file.candidate_list import Choice

Options = TypeVar("Options")
UNIT_S = {"s": 1, "m": 60, "min": 60, "h": 3600}


def taking(kind: type[Options], verb: Callable[[Options], None]) -> Callable[..., None]:
    """The verb as typer wants it: its parameters are the fields of `kind`, a dataclass."""

    def command(**values: Any) -> None:
        verb(kind(**values))

    as_typer_wants: Any = command
    as_typer_wants.__name__, as_typer_wants.__doc__ = verb.__name__, verb.__doc__
    as_typer_wants.__signature__ = inspect.signature(kind, eval_str=True)
    return command


def complete_suite(incomplete: str) -> list[str]:
    """Names of shipped suites that begin so; the shell adds files by itself."""
    from rmwbench.suite.file.places import shipped_suites

    return [name for name in shipped_suites() if name.startswith(incomplete)]


def complete_candidate(incomplete: str) -> list[str]:
    """Names of candidates and sets that begin so; the shell adds files by itself."""
    from rmwbench.suite.file.candidates_file import known_candidates

    return [name for name in known_candidates().names if name.startswith(incomplete)]


def complete_network(incomplete: str) -> list[str]:
    """Names of shipped networks that begin so."""
    from rmwbench.suite.file.networks_file import shipped_networks

    return [name for name in shipped_networks() if name.startswith(incomplete)]


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
Profiles = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        metavar="MIDDLEWARE=FILE",
        help="Compare this middleware, or a candidate of it, with your own profile file besides; may "
        "be repeated.",
    ),
]
OverNetwork = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="NAME",
        help="Play every workload over this network, one of the suite's or a shipped one such as "
        "wifi; of one host, what only reads goes to a second one (docs/network.md).",
        autocompletion=complete_network,
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
    """Option -> its value, for verbs that say which options do not go together."""
    return {"--candidates": candidates, "--with": added, "--without": without}


def choice(
    candidates: list[str] | None, added: list[str] | None, without: list[str] | None
) -> "Choice":
    from rmwbench.suite.file.candidate_list import Choice

    return Choice(tuple(candidates or ()), tuple(added or ()), tuple(without or ()))


SUITE = typer.Argument(
    metavar="SUITE",
    help="A shipped suite such as `quick` (`rmwbench suites` lists them), or the path of a suite "
    "file (.yaml).",
    autocompletion=complete_suite,
)
Arms = Annotated[
    list[str] | None, typer.Option("--arm", metavar="NAME", help="Only this arm; may be repeated.")
]


@dataclass(frozen=True, kw_only=True)
class ArmOptions:
    """Which arms, over which network."""

    arm: Arms = None
    candidates: Candidates = None
    added: With = None
    without: Without = None
    profiles: Profiles = None
    network: OverNetwork = None

    @property
    def choice(self) -> "Choice":
        arms_choice = choice(self.candidates, self.added, self.without)
        return replace(arms_choice, profiles=tuple(self.profiles or ()), network=self.network)

    def compared(self, suite: str) -> "Choice":
        """What the command line says of the suite's arms; where neither says any, what is here, and
        that is said."""
        from rmwbench.campaign.plan.default_arms import default_arms
        from rmwbench.cli.console import stderr_console
        from rmwbench.suite.file.places import find, read

        path = find(suite)
        arms = default_arms(path, read(path), self.choice, names_arm=bool(self.arm))
        if arms.note:
            stderr_console().print(arms.note, style="dim", markup=False)
        return arms.choice


@dataclass(frozen=True, kw_only=True)
class SuiteOptions(ArmOptions):
    """Options of a suite: how much of it runs, in how much time, in which order."""

    suite: Annotated[str | None, SUITE] = None
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Fit whole blocks into this time, such as 90s, 5m or 1h30m; for a suite that is "
            "too long for it, the short version, or a part that says what it left out.",
        ),
    ] = None
    short: Annotated[
        bool,
        typer.Option(
            "--short",
            help="The suite's short version: the same factors, fewer levels, shorter trials.",
        ),
    ] = False
    seed: Annotated[
        int, typer.Option(min=0, help="Draws the order of trials and their schedules.")
    ] = 0
    workload: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this workload; may be repeated.")
    ] = None
    at: At = None

    def suite_named(self, verb: str) -> str:
        """The suite. Raises UserError where none was named."""
        if self.suite is None:
            raise UserError(
                "which suite?", expected=f"rmwbench {verb} SUITE", fix=f"rmwbench {verb} quick"
            )
        return self.suite

    def request(self, suite_file: str, **more: Any) -> "Request":
        """What makes the plan; `more` are further fields of it."""
        from rmwbench.campaign.plan.request import Request

        return Request(
            suite_file,
            seed=self.seed,
            budget_s=None if self.budget is None else parse_duration_s(self.budget),
            workloads=tuple(self.workload or ()),
            arms=tuple(self.arm or ()),
            shortened=self.short,
            at=tuple(self.at or ()),
            **more,
        )


def parse_duration_s(text: str) -> float:
    """Seconds of `90s`, `5m`, `1.5h` or `1h30m`; UserError for anything else, a bare number
    included (it names no unit)."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(min|[smh])", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*(min|[smh])|\s", "", text):
        bare = re.fullmatch(r"\s*\d+(\.\d+)?\s*", text)
        raise UserError(
            f"`{text}` is not a valid time",
            where="--budget",
            expected="a number with its unit: 90s, 5m, 1h30m",
            actual=text,
            fix=f"did you mean `{text.strip()}m`?" if bare else None,
        )
    seconds = math.fsum(float(number) * UNIT_S[unit] for number, unit in parts)
    if not seconds > 0:
        raise UserError(
            "a budget of no time runs nothing",
            where="--budget",
            expected="more than 0 s",
            actual=text,
        )
    return seconds
