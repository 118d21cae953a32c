"""Cells of a campaign as somebody names them: `DIR` for all, or `DIR:SELECTION` for some.

A selection is an arm's name, or `KEY=VALUE` pairs with commas between them: `arm`, `workload`,
`middleware`, `layer`, `version`, `profile`, `cell`, or one of the suite's factors. A key given
twice allows either value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmwbench.analysis.metrics.comparisons import is_compared, is_floor, json_column
from rmwbench.bundle import Bundle
from rmwbench.bundle.newest import newest_campaign
from rmwbench.errors import UserError, did_you_mean

COLUMNS = ("arm", "workload", "middleware", "layer", "version", "profile", "cell")
Row = Mapping[str, Any]


def is_imported(bundle: Bundle) -> bool:
    """Whether the bundle was imported and not measured by us."""
    return bundle.campaign.imported is not None


def is_capacity(bundle: Bundle) -> bool:
    """Whether the bundle is a search for a capacity."""
    return bundle.campaign.kind == "capacity"


def refuse_imported(bundle: Bundle) -> None:
    """Raises UserError where a verb that needs records was given an imported bundle."""
    if is_imported(bundle):
        raise UserError(
            "this bundle was imported: it has seconds or totals, and this needs messages",
            where=str(bundle.directory),
            fix="`rmwbench show` has its figures, `rmwbench query` its tables",
        )


@dataclass(frozen=True)
class Selection:
    """`text` as typed; `cells` (rows of `cells`) chosen from `bundle`; `wanted`: key -> values, as
    selected."""

    text: str
    bundle: Bundle
    cells: Sequence[Row]
    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What was selected: `layer rclcpp`, `arm zenoh or cyclonedds, workload camera`."""
        return ", ".join(f"{key} {' or '.join(values)}" for key, values in self.wanted.items())

    def is_of_campaign(self, other: "Selection") -> bool:
        """Whether both are of one campaign."""
        return self.bundle.directory.resolve() == other.bundle.directory.resolve()

    def with_floors(self) -> list[Row]:
        """The cells, and the floors that stand beside them: what others are measured against stays
        where the arms are fewer."""
        numbers = {cell["cell"] for cell in self.cells}
        there = {(cell["workload"], cell["factors"]) for cell in self.cells}
        return [
            cell
            for cell in self.bundle.rows("cells")
            if cell["cell"] in numbers
            or (is_floor(cell) and (cell["workload"], cell["factors"]) in there)
        ]


def select(text: str) -> Selection:
    """Raises UserError for a directory that is not a campaign, and for a selection that is unknown
    or empty."""
    directory, selection = _split(text)
    bundle = Bundle(directory)
    refuse_imported(bundle)
    cells = bundle.rows("cells")
    if not cells:
        raise UserError(
            "the campaign has no cells yet", where=str(directory), fix="wait until it has begun"
        )
    wanted = _wanted(selection, cells, text) if selection is not None else {}
    chosen = [c for c in cells if all(value_of(c, key) in values for key, values in wanted.items())]
    if not chosen:
        raise UserError(
            "no cell has all of this",
            where=text,
            expected=Selection(text, bundle, (), wanted).words,
            actual=f"{len(cells)} cells that each lack some of it",
            fix="`rmwbench show` lists a campaign's arms and workloads",
        )
    compared = [cell for cell in chosen if is_compared(cell)]
    if not compared:
        raise UserError(
            "these cells tell which ROS variables are obeyed, and nothing of them is compared",
            where=text,
            expected="cells without ros_variables",
            actual=f"{len(chosen)} with",
            fix="`rmwbench show` has the table of each campaign",
        )
    return Selection(text, bundle, compared, wanted)


def opened(text: str | None) -> tuple[Bundle, Selection | None]:
    """The campaign, which is the newest where no text names one, and what of it was selected; None
    where the text has no selection. Raises UserError as `select` does."""
    if text is None:
        return Bundle(newest_campaign()), None
    directory, selection = _split(text)
    if selection is None:
        return Bundle(directory), None
    selected = select(text)
    return selected.bundle, selected


def refuse_selection(selection: Selection | None, instead: str) -> None:
    """Raises UserError where something was selected of what has no verdicts; `instead` is the
    command without it."""
    if selection is not None:
        raise UserError(
            "a selection is for the verdicts of a campaign alone", where=selection.text, fix=instead
        )


def _split(text: str) -> tuple[Path, str | None]:
    """A directory may have a colon in its name: the longest part that exists is the directory."""
    if Path(text).is_dir() or ":" not in text:
        return Path(text), None
    at = len(text)
    while (at := text.rfind(":", 0, at)) >= 0:
        if Path(text[:at]).is_dir():
            return Path(text[:at]), text[at + 1 :]
    directory, _, selection = text.partition(":")
    return Path(directory), selection


def _wanted(selection: str, cells: Sequence[Row], where: str) -> dict[str, tuple[str, ...]]:
    known = {
        key: sorted({value for c in cells if (value := value_of(c, key)) is not None})
        for key in (*COLUMNS, *factor_names(cells))
    }
    if selection in known["arm"] or "=" not in selection:
        pairs = [("arm", selection)]  # an arm's name may contain commas
    else:
        pairs = []
        for part in selection.split(","):
            key, equals, value = (x.strip() for x in part.partition("="))
            if not equals:
                raise UserError(
                    f"{part.strip()!r} is not part of a selection",
                    where=where,
                    expected="KEY=VALUE",
                    fix="an arm alone needs no key: DIR:ARM",
                )
            pairs.append((key, value))
    wanted: dict[str, tuple[str, ...]] = {}
    for key, value in pairs:
        if key not in known:
            raise UserError(
                f"cells have no {key!r}",
                where=where,
                expected=", ".join(known),
                fix=did_you_mean(key, known)
                or "the suite's factors are keys too, where it has some",
            )
        if value not in known[key]:
            raise UserError(
                f"no cell has the {key} {value!r}" if value else "an empty selection",
                where=where,
                expected=", ".join(known[key][:12]) + (", …" if len(known[key]) > 12 else ""),
                fix=did_you_mean(value, known[key]),
            )
        wanted[key] = (*wanted.get(key, ()), value)
    return wanted


def factor_names(cells: Sequence[Row]) -> list[str]:
    return list(
        dict.fromkeys(k for c in cells for k in json_column(c["factors"]) if k not in COLUMNS)
    )


def value_of(cell: Row, key: str) -> str | None:
    value = cell[key] if key in COLUMNS else json_column(cell["factors"]).get(key)
    return None if value is None else str(value)
