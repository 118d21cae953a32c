"""Options that several verbs have, and `with_options`, by which a verb gets its options as one
object.

`--candidates`, `--with`, `--without` and `--profile` choose the arms of a suite, `--network` the
network between its hosts, `--at` the levels of its factors, for every verb that plans or runs."""

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.campaign.plan.request import Request
    from rmwbench.suite.file.candidate_list import Choice

UNIT_S = {"s": 1, "m": 60, "min": 60, "h": 3600}


def with_options(verb: Callable[[Any], None]) -> Callable[..., None]:
    """Return the verb as a function for typer, whose parameters are the fields of the dataclass of
    the verb's parameter `options`."""
    kind = inspect.get_annotations(verb)["options"]

    def command(**values: Any) -> None:
        verb(kind(**values))

    typer_command: Any = command
    typer_command.__name__, typer_command.__doc__ = verb.__name__, verb.__doc__
    typer_command.__signature__ = inspect.signature(kind, eval_str=True)
    return command


def json_option(text: str) -> Any:
    return typer.Option("--json", help=text)


def complete_suite(incomplete: str) -> list[str]:
    """Return the names of shipped suites that begin so; the shell adds files by itself."""
    from rmwbench.suite.file.suite_files import shipped_suites

    return [name for name in shipped_suites() if name.startswith(incomplete)]


def complete_candidate(incomplete: str) -> list[str]:
    """Return the names of candidates and sets that begin so; the shell adds files by itself."""
    from rmwbench.suite.file.candidates_file import known_candidates

    return [name for name in known_candidates().names if name.startswith(incomplete)]


def complete_network(incomplete: str) -> list[str]:
    """Return the names of shipped networks that begin so."""
    from rmwbench.suite.file.networks_file import shipped_networks

    return [name for name in shipped_networks() if name.startswith(incomplete)]


CANDIDATE_HELP = (
    "A candidate, a set (`rmwbench candidates` lists both) or your own file of candidates; "
    "may be repeated."
)
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidates",
        metavar="SET|FILE",
        help=f"Compare these instead of the suite's arms; its floor stays. {CANDIDATE_HELP}",
        autocompletion=complete_candidate,
    ),
]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME",
        help=f"Also compare these. {CANDIDATE_HELP}",
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
        help="Also compare this middleware, or a candidate of it, with your own profile file; may be "
        "repeated.",
    ),
]
OverNetwork = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="NAME",
        help="Run every workload over this network, one of the suite's or a shipped one such as "
        "wifi; in a workload of one host, nodes that only read move to a second (docs/network.md).",
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
Workloads = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this workload; may be repeated.")
]
Seed = Annotated[int, typer.Option(min=0, help="Draws the order of trials and their schedules.")]
CampaignDirectory = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DIR]", help="A campaign's directory; the newest below ./campaigns if absent."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ArmOptions:
    """The options that choose the arms of a suite and the network between its hosts."""

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

    def choice_for(self, suite: str) -> "Choice":
        """Return the choice of arms of the command line. If neither the command line nor the suite
        names arms, return those that can run here, and print a note about it on stderr."""
        from rmwbench.campaign.plan.default_arms import default_arms
        from rmwbench.cli.console import stderr_console
        from rmwbench.suite.file.suite_files import find, read

        path = find(suite)
        arms = default_arms(path, read(path), self.choice, names_arm=bool(self.arm))
        if arms.note:
            stderr_console().print(arms.note, style="dim", markup=False)
        return arms.choice


@dataclass(frozen=True, kw_only=True)
class SuiteOptions(ArmOptions):
    """The options of a suite: how much of it runs, in how much time, in which order."""

    suite: Annotated[str | None, SUITE] = None
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Fit whole blocks into this time, such as 90s, 5m or 1h30m; if the suite is too "
            "long for it, run its short version, or a part, and say what is left out.",
        ),
    ] = None
    short: Annotated[
        bool,
        typer.Option(
            "--short",
            help="The suite's short version: the same factors, fewer levels, shorter trials.",
        ),
    ] = False
    seed: Seed = 0
    workload: Workloads = None
    at: At = None

    def required_suite(self, verb: str) -> str:
        """Return the suite. Raises UserError if none is named."""
        if self.suite is None:
            raise UserError(
                "which suite?", expected=f"rmwbench {verb} SUITE", fix=f"rmwbench {verb} quick"
            )
        return self.suite

    def request(self, suite_file: str, **more: Any) -> "Request":
        """Return the request for a plan; `more` are further fields of it."""
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


def parse_fraction(text: str) -> float | None:
    """Return 0.05 for `5%`, `5 %` or `0.05`, None for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    return float(match[1]) / (100 if match[2] else 1) if match else None


def parse_duration_s(text: str, option: str = "--budget") -> float:
    """Return the seconds of `90s`, `5m`, `1.5h` or `1h30m`. Raises UserError, about `option`, for
    anything else, a bare number without a unit included."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(min|[smh])", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*(min|[smh])|\s", "", text):
        bare = re.fullmatch(r"\s*\d+(\.\d+)?\s*", text)
        raise UserError(
            f"`{text}` is not a valid time",
            where=option,
            expected="a number with its unit: 90s, 5m, 1h30m",
            actual=text,
            fix=f"did you mean `{text.strip()}m`?" if bare else None,
        )
    seconds = math.fsum(float(number) * UNIT_S[unit] for number, unit in parts)
    if not seconds > 0:
        raise UserError(
            "the time must not be zero", where=option, expected="more than 0 s", actual=text
        )
    return seconds
