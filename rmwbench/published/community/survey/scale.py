"""The scales that answers are given on, lowest first, and the answers that are not on a scale.

A scale is part of the result: it is printed with it. (The evaluation of 2020 documented one and
applied another.)
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rmwbench.errors import UserError


@dataclass(frozen=True)
class Scale:
    """Levels from the lowest to the highest, as they are shown."""

    name: str
    levels: tuple[str, ...]

    def level(self, answer: str) -> int | None:
        """The answer's place from 0, None where it is not of this scale; case and spaces do not
        matter."""
        return {_key(text): place for place, text in enumerate(self.levels)}.get(_key(answer))


AGREEMENT = Scale(
    "agreement", ("Strongly Disagree", "Disagree", "Neutral", "Agree", "Strongly Agree")
)
KNOWN = (
    AGREEMENT,
    Scale(
        "agreement of 7",
        (
            *("Strongly Disagree", "Disagree", "Somewhat Disagree", "Neutral", "Somewhat Agree"),
            *("Agree", "Strongly Agree"),
        ),
    ),
    Scale(
        "agreement",
        ("Strongly Disagree", "Disagree", "Neither Agree nor Disagree", "Agree", "Strongly Agree"),
    ),
    Scale(
        "satisfaction",
        ("Very Dissatisfied", "Dissatisfied", "Neutral", "Satisfied", "Very Satisfied"),
    ),
    Scale("frequency", ("Never", "Rarely", "Sometimes", "Often", "Always")),
    Scale("quality", ("Very Poor", "Poor", "Fair", "Good", "Excellent")),
)
NO_OPINION = frozenset(
    (
        *(
            "",
            "no opinion / not applicable",
            "no opinion",
            "not applicable",
            "n/a",
            "na",
            "don't know",
            "do not know",
        ),
        *("no answer", "prefer not to say", "-"),
    )
)


def is_no_opinion(answer: str) -> bool:
    """Whether an answer says that there is none; such answers are counted and left out of every
    statistic."""
    return _key(answer) in NO_OPINION


def of(answers: Iterable[str], scales: tuple[Scale, ...] = KNOWN) -> Scale | None:
    """The scale that these answers are on: the first that has most of them; None where none has
    half of those given. Words that occur in several scales (Neutral) do not decide."""
    given = [a for a in answers if not is_no_opinion(a)]
    if not given:
        return None
    fits = [
        (sum(s.level(a) is not None for a in given), -place, s) for place, s in enumerate(scales)
    ]
    most, _, best = max(fits, key=lambda fit: fit[:2])
    return best if 2 * most > len(given) else None


def told(text: str) -> Scale:
    """A scale as an option tells it: its levels from the lowest to the highest, separated by
    commas."""
    levels = tuple(part.strip() for part in text.split(","))
    if len(levels) < 2 or len({_key(level) for level in levels}) < len(levels) or not all(levels):
        raise UserError(
            "not a scale",
            where="--scale",
            expected="distinct levels, lowest first: Never,Rarely,Often",
            actual=text,
        )
    clash = next((level for level in levels if is_no_opinion(level)), None)
    if clash is not None:
        raise UserError("a level that means no opinion", where="--scale", actual=clash)
    return Scale("as told", levels)


def _key(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split())
