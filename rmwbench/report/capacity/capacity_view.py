"""What `rmwbench capacity` shows: up to which level each arm holds the limit, and the curve of each
arm, level by level. The latency of a level whose queue grows reads `unstable`, never a number."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rmwbench.analysis.metrics.aggregate import FATES, LOSSES
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report import machine_view
from rmwbench.report.chart import style
from rmwbench.report.view import (
    Block,
    On,
    Picture,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Text,
    Tone,
    View,
    with_data,
)
from rmwbench.results.capacity import capacity_words
from rmwbench.results.capacity.capacity_model import (
    CapacityArm,
    RaisedFactor,
    Searched,
    SearchLevel,
)
from rmwbench.results.model import Estimate
from rmwbench.words import numbers as fmt

FEWEST_TRIALS = 3
TONES: dict[str, Tone] = {"holds": "good", "mixed": "open", "fails": "bad", "says nothing": "odd"}
METHOD = (
    Text(
        "Messages are due by a schedule, whether or not the middleware keeps up; latency counts "
        "from that time. What did not arrive, lost or never sent, counts as infinitely late.",
        lead="Open loop.",
    ),
    Text(
        "A queue that grows over the window fails any limit, and its latency is not quoted: it "
        "depends on when one stops.",
        lead="Unstable is not slow.",
    ),
    Text(
        "The level doubles or halves until one trial held and one failed; then each next level is "
        "the one that tells most. The interval holds the level at which half of the trials hold "
        "the limit, in 95 % of searches.",
        lead="Search.",
    ),
    Text(
        "The load at which the median passes twice its smallest value and stays above it, or at "
        "which the queue begins to grow.",
        lead="Knee.",
    ),
)


def view(searched: Searched, *, draw: bool = False) -> View:
    """The view of a capacity search; `draw`: with its pictures."""
    pictures: list[Picture] = []
    if draw:
        from rmwbench.report.capacity.capacity_charts import figures

        pictures = with_data(figures(searched))
    search, campaign = searched.search, searched.campaign
    conclusions = [_conclusions(searched, "conclude"), _conclusions(searched, "caution")]
    answer: list[Block] = [
        machine_view.conclusions(*conclusions, on=On.TERMINAL),
        _answers(searched),
        *(picture for picture in pictures if picture.key == "capacities"),
    ]
    curves = [picture for picture in pictures if picture.key != "capacities"]
    sections = [
        machine_view.conclusions(*conclusions, on=On.DOCUMENT),
        Section("The curves", curves, anchor="curves", nav="curves"),
        Section(
            "Level by level",
            [block for arm in searched.arms for block in _levels(arm, search)],
            anchor="levels",
            nav="levels",
        ),
    ]
    probes = Text(
        "Each probe is a trial with fresh processes. Arms take turns in rounds of random order, so "
        "that the machine's changes of state hit all alike. A window has at least "
        f"{fmt.significant_count(search.messages)} messages, because the limit needs them.",
        lead="Probes.",
    )
    sections += [
        machine_view.section(searched.machine, _facts(searched)),
        machine_view.method([METHOD[0], probes, *METHOD[1:]], searched.glossary),
    ]
    return View(
        title=capacity_words.question(search),
        about=[*_about(searched)],
        answer=answer,
        sections=sections,
        card=_card(searched),
        glossary=searched.glossary,
        tool_version=campaign.tool_version or "",
    )


def _facts(searched: Searched) -> dict[str, Any]:
    search, campaign = searched.search, searched.campaign
    return {
        "name": campaign.name,
        "suite": campaign.suite,
        "begun": campaign.created_utc,
        "seed": campaign.seed,
        "directory": campaign.directory,
        "levels": f"{capacity_words.level(search.least, search.unit, search.title)} to "
        f"{capacity_words.level(search.most, search.unit, search.title)}, at most "
        f"{100 * search.resolution:g} % apart",
    }


def _about(searched: Searched) -> Iterator[Block]:
    search, campaign, trials = searched.search, searched.campaign, searched.campaign.trials
    counts = [fmt.counted(trials.done, "trial")]
    counts += [
        f"{count} {name}"
        for name, count in (("failed", trials.failed), ("void", trials.void))
        if count
    ]
    title = search.workload_title
    if search.workload_description:
        title += f": {search.workload_description.rstrip('.')}"
    yield Text(
        f"{title}. {searched.machine.summary} · {str(campaign.created_utc)[:10]} · "
        f"{', '.join(counts)} in {fmt.counted(campaign.rounds, 'round')}, took "
        f"{fmt.duration(campaign.wall_s)} · campaign {campaign.name}",
        "muted",
    )
    yield from machine_view.calibrated(searched.machine)
    if not campaign.finished:
        yield Text(
            "The search has not ended; this is what it has found so far.",
            "warning",
            lead="Not finished.",
        )
    yield from machine_view.warnings(searched.machine)


def _conclusions(searched: Searched, kind: str) -> machine_view.TextGroups:
    texts = [conclusion.text for conclusion in searched.conclusions if conclusion.kind == kind]
    return [("", texts)] if texts else []


def _card(searched: Searched) -> list[str]:
    """The experiment card that travels with every picture."""
    campaign = searched.campaign
    return [
        f"{searched.search.workload} of suite {campaign.suite} · {searched.search.limit.text} · "
        f"{str(campaign.created_utc)[:10]} · rmwbench {campaign.tool_version or ''} · "
        f"{campaign.name}",
        searched.machine.summary,
    ]


def _answers(searched: Searched) -> Table:
    search = searched.search
    looks = style.looks(searched.arms)
    columns = [
        TableColumn("arm"),
        TableColumn(f"holds up to ({search.title})", right=True, detail="beside", key="capacity"),
        TableColumn("knee", right=True),
        TableColumn("trials", right=True),
        TableColumn("above it"),
    ]
    rows = []
    for arm in searched.arms:
        capacity = arm.capacity
        value = capacity_words.without_interval(capacity, search.title)
        tone: Tone = "" if capacity.state in ("bracketed", "at least") else "odd"
        knee = capacity_words.level(arm.knee.value, search.unit)
        bound = " (machine-bound)" if arm.machine_bound else ""
        cells: list[TableCell | str] = [
            TableCell(arm.arm, swatch=looks[arm.arm], why="; ".join(arm.flags)),
            TableCell(value, tone, detail=capacity_words.interval(capacity)),
            TableCell(knee, why=arm.knee.no_data or ""),
            str(capacity.trials),
            TableCell(f"{capacity_words.beyond(arm)}{bound}", "muted"),
        ]
        rows.append(TableRow(cells, tone="muted" if arm.role == "floor" else ""))
    return Table(columns, rows, look="results capacities")


def _levels(arm: CapacityArm, search: RaisedFactor) -> Iterator[Block]:
    """The curve of an arm in numbers, and on a page every trial."""
    if not arm.levels:
        return
    version = f"{arm.middleware} {arm.version or ''}, profile {arm.profile}"
    blocks = [
        Text(_knee(arm, search), "muted"),
        *(Text(flag, "muted", on=On.DOCUMENT) for flag in arm.flags),
        curve(arm, search),
    ]
    yield Section(arm.arm, blocks, head=[TableCell(version, "muted")])
    probes = [
        [
            str(probe.trial),
            str(probe.round + 1),
            capacity_words.level(probe.level, search.unit),
            ": ".join(filter(None, (probe.kind, "; ".join(probe.causes)))),
        ]
        for probe in arm.probes
    ]
    heads = (("trial", True), ("round", True), (search.title, True), ("outcome", False))
    title = f"Every trial of {arm.arm}, in its order"
    yield Section(title, [Table(heads, probes)], folded=True)


def _knee(arm: CapacityArm, search: RaisedFactor) -> str:
    knee = arm.knee
    if knee.value is None:
        return f"no knee: {knee.no_data}"
    at = capacity_words.level(knee.value, search.unit, search.title)
    if knee.by == "queue":
        return f"knee at {at}, where the queue begins to grow"
    return (
        f"knee at {at}: the median doubles from {fmt.quantity(knee.base_ns, 'ns')} at "
        f"{capacity_words.level(knee.base, search.unit, search.title)}"
    )


def curve(arm: CapacityArm, search: RaisedFactor) -> Table:
    """The table of an arm's curve: a row per level from the lowest to the highest."""
    latencies = list(dict.fromkeys(search.curve))
    others = [condition.metric for condition in search.limit.conditions]
    first_metrics = arm.levels[0].metrics
    names = [
        *latencies,
        *(m for m in others if m not in (*latencies, *LOSSES) and m in first_metrics),
    ]
    fates = [
        name
        for name in FATES
        if name == FATES.lost
        or any((entry := level.metrics.get(name)) and entry.value for level in arm.levels)
    ]
    titles = dict(zip(FATES, ("lost", "late", "never sent"), strict=True))
    heads = [search.title, *map(_title, names), *(titles[name] for name in fates)]
    columns = [TableColumn(head, right=True) for head in (*heads, "achieved", "idle", "held")]
    columns += [TableColumn("limit"), TableColumn("how it broke")]
    rows = [[*_level(level, names, search), *_fates(level, fates)] for level in arm.levels]
    return Table(
        columns, [_judged(row, level) for row, level in zip(rows, arm.levels, strict=True)]
    )


def _level(
    level: SearchLevel, metrics: list[str], search: RaisedFactor
) -> Iterator[TableCell | str]:
    yield capacity_words.level(level.level, search.unit)
    for name in metrics:
        yield TableCell("unstable", "muted") if level.unstable else latency(level.metrics.get(name))


def _fates(level: SearchLevel, fates: list[str]) -> Iterator[str]:
    yield from (fmt.metric(level.metrics.get(name)).text for name in fates)
    yield fmt.metric(level.metrics["achieved_rate"]).text
    yield "–" if level.idle is None else fmt.quantity(level.idle, "fraction")


def _judged(row: list[TableCell | str], level: SearchLevel) -> list[TableCell | str]:
    total = level.held + level.failed
    verdict = "mixed" if level.held and level.failed else "holds" if level.held else "fails"
    verdict = verdict if total else "says nothing"
    return [*row, f"{level.held}/{total}", TableCell(verdict, TONES[verdict]), cause(level)]


def latency(metric: Estimate | None) -> TableCell:
    """A latency with its interval from three trials on; the t interval of two trials is a hundred
    times too wide to read."""
    shown = fmt.metric(metric)
    if shown.state == "never":
        return TableCell("never", "bad")
    few = metric is None or (metric.trials or 0) < FEWEST_TRIALS
    interval = "" if few or shown.state != "measured" else shown.interval
    return TableCell(shown.text, "muted" if shown.state == "absent" else "", detail=interval)


def cause(level: SearchLevel) -> str:
    """How the limit broke in the level's failing trials: the middle cause of the most frequent
    kind."""
    if not level.causes:
        return ""
    kinds = Counter(map(_stem, level.causes))
    stem = kinds.most_common(1)[0][0]
    alike = [text for text in level.causes if _stem(text) == stem]
    return alike[len(alike) // 2]


def _stem(text: str) -> str:
    return "".join(c for c in text if not c.isdigit() and c not in ".%")[:24]


def _title(metric: str) -> str:
    entry = GLOSSARY[metric]
    return f"p{entry.q * 100:g} {entry.words[0]}" if entry.kind == "quantile" else entry.title
