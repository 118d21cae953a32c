"""The differences of two sides besides their results, as five questions in the order in which they
matter: on another machine, every ratio is a fact about machines; another load average may explain a
single ratio.

Two texts or documents differ in settings: `transport.link.tx.queue: 4 → 16` says more than two
lines out of three hundred. If a text cannot be read as settings, the changed lines are returned."""

import difflib
import json
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median
from typing import Any

from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.campaign_json import DescribedMiddleware, MachineDocument
from rmwbench.input_file import json5_value, yaml_value
from rmwbench.results.compare.compare_model import Aspect, Difference, TopicLikeness
from rmwbench.results.selection import Match, Selection, cell_name
from rmwbench.results.show_model import Configuration
from rmwbench.results.workload.workload_arm import configuration_of, described_of
from rmwbench.suite.workload.schedule import schedule_of
from rmwbench.words.numbers import counted, percent, quantity

QUESTIONS: Mapping[Aspect, str] = {
    "machine": "the same machine?",
    "workload": "the same workloads?",
    "software": "the same middlewares and profiles?",
    "instrument": "measured in the same way?",
    "day": "the same conditions on the day?",
}
_RESULTS = {"summary", "facts", "warnings", "state", "calibration", "aa_floor", "end"}
"""Parts of a machine's description that do not identify it."""
_DAY = {"load average", "steal since boot"}
WORDS = ("title", "description", "primary_metric")
"""The texts of a workload, and the metric that it is judged by."""
AROUND = ("network", "daemons_host", "background_hosts", "recorder", "sampling", "bring_up")
"""The parts of a cell's definition that belong to its case, besides workload, processes, endpoints
and conditions."""
ENDPOINT_OF_ARM = {"wait", "loan", "publish_mode", "take", "capacity", "peers"}
_DIFFERS = {"fraction": (0.02, 0.0), "ns": (5_000.0, 1.5), "count": (1.0, 1.5)}
"""Unit of a probe -> the smallest difference, and the smallest ratio, that have a line."""


def environment(
    a: Selection,
    b: Selection,
    matches: Sequence[Match],
    trials: tuple[Sequence[TrialLine], Sequence[TrialLine]],
) -> tuple[TopicLikeness, ...]:
    """Return the questions in the order in which they matter. `trials`: the finished trials of the
    cells of each side."""
    is_one_campaign = a.is_of_campaign(b)
    compared: dict[Aspect, list[Difference] | None] = {
        "machine": [] if is_one_campaign else _machine(a, b),
        "workload": _workloads(matches),
        "software": _software(a, b, matches),
        "instrument": [] if is_one_campaign else _instrument(a, b, trials),
        "day": [] if is_one_campaign else _day(a, b, trials),
    }
    return tuple(
        TopicLikeness(
            topic=topic,
            question=QUESTIONS[topic],
            answer="unknown" if differing is None else "different" if differing else "same",
            differences=tuple(differing or ()),
        )
        for topic, differing in compared.items()
    )


def definition_differences(match: Match) -> list[Difference]:
    """Return how the workloads of two cells differ, without the arm's own settings. If the arms are
    two, the conditions are among these, since each arm may have its own."""
    around = AROUND if _are_two_arms(match) else ("conditions", *AROUND)
    return differences(_workload_of(match.a, around), _workload_of(match.b, around))


def arm_differences(match: Match) -> list[Difference]:
    """Return how the arms differ in options, wait, loan, publish mode and conditions, without
    names, roles and profiles."""
    definitions = [json_column(c["definition"]) for c in (match.a, match.b)]
    a, b = (
        {k: v for k, v in (d.get("arm") or {}).items() if k not in ("name", "role", "profile")}
        | ({"conditions": d.get("conditions")} if _are_two_arms(match) else {})
        for d in definitions
    )
    return differences(a, b)


def _are_two_arms(match: Match) -> bool:
    return bool(match.a["arm"] != match.b["arm"])


def _workload_of(cell: Mapping[str, Any], around: Sequence[str]) -> dict[str, Any]:
    """Return the definition of a cell's workload, with the keys `around` it."""
    definition = json_column(cell["definition"])
    workload = definition.get("workload") or {}
    return {
        "workload": {k: v for k, v in workload.items() if k not in WORDS},
        "processes": definition.get("processes"),
        "endpoints": {
            str(e.get("endpoint", n)): {k: v for k, v in e.items() if k not in ENDPOINT_OF_ARM}
            for n, e in enumerate(definition.get("endpoints") or [])
        },
        "schedule": schedule_of(definition),
        **{name: definition.get(name) for name in around},
    }


def _machine(a: Selection, b: Selection) -> list[Difference] | None:
    """Return the differences of the machines; None if either is not described."""
    left, right = (s.bundle.campaign.machine for s in (a, b))
    parts = [{k: v for k, v in m.document().items() if k not in _RESULTS} for m in (left, right)]
    if all(parts):
        return differences(*parts)
    facts = [
        {fact.name: fact.value for fact in m.facts if fact.name not in _DAY} for m in (left, right)
    ]
    return differences(*facts) if all(facts) else None


def _workloads(matches: Sequence[Match]) -> list[Difference]:
    cells_by_difference: dict[Difference, list[str]] = defaultdict(list)
    for m in matches:
        timelines = (json_column(c["definition"]).get("timeline") or {} for c in (m.a, m.b))
        timeline = (replace(t, name=f"timeline.{t.name}") for t in differences(*timelines))
        for difference in (*definition_differences(m), *timeline):
            cells_by_difference[difference].append(cell_name(m.a))
    return [replace(d, cells=_few(cells)) for d, cells in cells_by_difference.items()]


def _software(a: Selection, b: Selection, matches: Sequence[Match]) -> list[Difference]:
    """Return the differences of versions, builds and profiles, each once for all cells that have
    it."""
    out: list[Difference] = []
    for m in matches:
        owner = m.a["arm"] if m.a["arm"] == m.b["arm"] else f"{m.a['arm']} | {m.b['arm']}"
        alike = m.a["middleware"] == m.b["middleware"]
        for column in ("middleware", "layer", "version", "release_date", "profile"):
            if m.a[column] != m.b[column]:
                whose = (
                    m.a["middleware"] if alike and column in ("version", "release_date") else owner
                )
                out.append(
                    Difference(
                        name=f"{whose}: {column.replace('_', ' ')}", a=m.a[column], b=m.b[column]
                    )
                )
        out += _of(owner, arm_differences(m))
        sides = ((m.a, a.bundle), (m.b, b.bundle))
        builds = [_build(described_of(*side)) for side in sides]
        profiles = [configuration_of(*side) for side in sides]
        if alike:
            out += _of(m.a["middleware"], differences(*builds))
        if alike and profiles[0] != profiles[1]:
            out += _profile_lines(owner, *profiles)
    return list(dict.fromkeys(out))


def _of(owner: str, differing: Iterable[Difference]) -> list[Difference]:
    """Return the differences with their owner's name before theirs."""
    return [replace(d, name=f"{owner}: {d.name}") for d in differing]


def _build(described: DescribedMiddleware | None) -> dict[str, Any]:
    if described is None:
        return {}
    return {"build": described.build, "capabilities": described.capabilities}


def _profile_lines(
    owner: str, a: Configuration | None, b: Configuration | None
) -> list[Difference]:
    name = f"{owner}: profile text"
    if a is None or b is None or a.text is None or b.text is None or a.format != b.format:
        return [Difference(name=name, a=_size(a), b=_size(b))]
    changed = of_texts(a.text, b.text, a.format)
    if changed.lines:
        return [Difference(name=name, a=None, b=None, lines=changed.lines)]
    if not changed.settings:
        return [Difference(name=name, a="other comments", b="or layout, the same settings")]
    return _of(owner, changed.settings)


def _size(profile: Configuration | None) -> str | None:
    if profile is None or profile.text is None:
        return None
    return f"{profile.format or 'text'}, {counted(len(profile.text.splitlines()), 'line')}"


def _instrument(
    a: Selection, b: Selection, trials: tuple[Sequence[TrialLine], Sequence[TrialLine]]
) -> list[Difference]:
    left, right = (s.bundle.campaign for s in (a, b))
    out = differences(
        *(
            {
                "tool version": side.bundle.campaign.tool_version,
                "sampler": _sampled(side, lines_of_side),
                "trials on": side.bundle.host,
                "suite": side.bundle.campaign.suite.name,
            }
            for side, lines_of_side in zip((a, b), trials, strict=True)
        )
    )
    texts = [c.suite.text or "" for c in (left, right)]
    if texts[0] != texts[1]:
        out.append(Difference(name="suite text", a=None, b=None, lines=lines(*texts)))
    return out + differences(*(_calibration(c.machine) for c in (left, right)))


def _calibration(machine: MachineDocument) -> dict[str, str | None]:
    noise, calibration = machine.aa_floor, machine.calibration or {}
    return {
        "A/A noise": None if noise is None else percent(noise),
        "calibration": calibration.get("calibration") or calibration.get("created_utc"),
    }


def _sampled(side: Selection, trials: Sequence[TrialLine]) -> str:
    numbers = {t.trial for t in trials if t.status == "done"}
    if not numbers:
        return "no trial"
    ran = {r["trial"] for r in side.bundle.rows("files") if r["name"] == "sampler.json"} & numbers
    if not ran:
        return "off"
    return "on" if ran == numbers else f"on in {len(ran)} of {len(numbers)} trials"


def _day(
    a: Selection, b: Selection, trials: tuple[Sequence[TrialLine], Sequence[TrialLine]]
) -> list[Difference]:
    out: list[Difference] = []
    states = [s.bundle.campaign.machine.state for s in (a, b)]
    loads_1min = [state["load_1min"] for state in states if state.get("load_1min") is not None]
    if len(loads_1min) == 2 and abs(loads_1min[0] - loads_1min[1]) >= 0.5:
        texts = [f"{load:.2f}" for load in loads_1min]
        out.append(Difference(name="load average at the start", a=texts[0], b=texts[1]))
    probes = [_probes(s, t) for s, t in zip((a, b), trials, strict=True)]
    for key in dict.fromkeys([*probes[0], *probes[1]]):
        values = [p[key] for p in probes if key in p]
        name, unit, at = key
        if len(values) < 2:
            continue
        difference, ratio = _DIFFERS.get(unit, (0.0, 1.5))
        if max(values) - min(values) >= difference and max(values) >= ratio * min(values):
            texts = [quantity(v, unit) for v in values]
            of_trials = f"{name.replace('_', ' ')}, median of trials ({at})"
            out.append(Difference(name=of_trials, a=texts[0], b=texts[1]))
    (void_a, of_a), (void_b, of_b) = ((sum(x.status == "void" for x in t), len(t)) for t in trials)
    if void_a * of_b != void_b * of_a:  # equal shares of campaigns of any length do not differ
        sides = (f"{void_a} of {of_a}", f"{void_b} of {of_b}")
        out.append(Difference(name="void trials", a=sides[0], b=sides[1]))
    return out


def _probes(side: Selection, trials: Sequence[TrialLine]) -> dict[tuple[str, str, str], float]:
    numbers = {t.trial for t in trials if t.status == "done"}
    values_of: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in side.bundle.rows("probes"):
        if row["trial"] in numbers and row["value"] is not None:
            values_of[row["probe"], row["unit"], row["at"]].append(row["value"])
    return {key: median(values) for key, values in values_of.items()}


def _few(names: list[str]) -> tuple[str, ...]:
    return tuple(names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"])


MOST_LINES = 200


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """Return the leaves in which two nested documents differ, by their path; None if a side lacks
    one."""
    left, right = dict(_leaves(a)), dict(_leaves(b))
    return [
        _difference(name, left.get(name), right.get(name))
        for name in dict.fromkeys([*left, *right])
        if not _same(left.get(name), right.get(name)) and not _is_filled(name, left, right)
    ]


@dataclass(frozen=True, kw_only=True)
class TextDifference:
    """The differences in settings, or in lines if one text is not readable as settings; both are
    empty if the texts differ in comments or layout only."""

    settings: tuple[Difference, ...] = ()
    lines: tuple[str, ...] = ()


def of_texts(a: str, b: str, kind: str | None) -> TextDifference:
    """Return the differences of two configurations of one format (`json5`, `xml`, `yaml`,
    `toml`)."""
    left, right = _parsed(a, kind), _parsed(b, kind)
    if left is not None and right is not None:
        return TextDifference(settings=tuple(differences(left, right)))
    return TextDifference(lines=lines(a, b))


def lines(a: str, b: str) -> tuple[str, ...]:
    """Return the changed lines, `-` of A and `+` of B, with one line around them; at most
    MOST_LINES."""
    diff = difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=1)
    changed = list(islice(diff, 2, None))  # without the names of two files
    more = len(changed) - MOST_LINES
    return tuple(changed if more <= 0 else [*changed[:MOST_LINES], f"… {more} more lines"])


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and (value or not path):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(x, (dict, list)) for x in value):
        for n, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{n}]")
    else:
        yield path, value


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal: 1 and 1.0 are, true and 1 are not."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return _json(a) == _json(b) or (a == b and bool not in (type(a), type(b)))


def _is_filled(name: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether the setting is empty on one side and has settings below it on the other, which show
    the difference."""
    below = (f"{name}.", f"{name}[")
    return any(
        side.get(name) in ("", {}, []) and any(setting.startswith(below) for setting in other)
        for side, other in ((left, right), (right, left))
    )


def _difference(name: str, a: Any, b: Any) -> Difference:
    """Return the difference. Texts have no quotation marks, unless these alone are the difference:
    `"4" → 4`."""
    left, right = (x if x is None or isinstance(x, str) else _json(x) for x in (a, b))
    if left == right:
        left, right = _json(a), _json(b)
    return Difference(name=name, a=left, b=right)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)  # YAML and TOML have dates


def _parsed(text: str, kind: str | None) -> dict[str, Any] | None:
    readers: dict[str | None, Callable[[str], Any]] = {
        "xml": _xml,
        "toml": tomllib.loads,
        "yaml": yaml_value,
        "json": yaml_value,
        "json5": json5_value,
    }
    try:
        value = readers[kind](text) if kind in readers else None
    except Exception:  # each reader has its own errors; changed lines are an answer, too
        return None
    return value if isinstance(value, dict) else None


def _xml(text: str) -> dict[str, Any]:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(text)
    return {_tag(root): _element(root)}


def _element(element: Any) -> Any:
    leaves: dict[str, Any] = {f"@{k}": v for k, v in element.attrib.items()}
    for child in element:
        if not isinstance(child.tag, str):  # a comment
            continue
        name, n = _tag(child), 2
        while name in leaves:
            name, n = f"{_tag(child)}[{n}]", n + 1
        leaves[name] = _element(child)
    text = (element.text or "").strip()
    return text if not leaves else leaves | ({"": text} if text else {})


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
