"""The report as one HTML file that needs nothing else: styles, scripts, Vega and all data are
inside.

A content security policy in the page forbids every request and every script but the ones written
here (by their hash), so the file is as harmless as a picture even when a middleware's log tries to
be markup. All texts go through Jinja's escaping; JSON for scripts has its `<` written as an escape,
because `</script>` ends a script wherever it stands.
"""

from math import inf
from pathlib import Path
from typing import Any

from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from rmwbench.report import columns, topic_rows
from rmwbench.report.chart import style as look
from rmwbench.report.chart.chain import chains
from rmwbench.report.chart.workload import card, figures, of_topic
from rmwbench.report.evaluated import NOT_EVALUATED, Evaluated
from rmwbench.report.explain.figures import explained
from rmwbench.report.explain.links import links
from rmwbench.report.page import asset, render_page
from rmwbench.report.view import Picture
from rmwbench.results.answer import done, more
from rmwbench.results.answer.conclusions import Kind, said_once
from rmwbench.results.answer.facts import by_what, by_what_whole
from rmwbench.results.answer.headline import conditions, headline
from rmwbench.results.machine.calibration import calibration_line
from rmwbench.results.ros import bring_up, recordings, ros_variables
from rmwbench.results.shown import Arm, Shown, Topic, Workload
from rmwbench.results.workload import effects, interop, outcomes, topics
from rmwbench.results.workload import groups as wire
from rmwbench.whole_file import write_whole
from rmwbench.words import numbers as fmt

VERDICTS = {
    "best": "decided: every other contender is worse",
    "equivalent": "as good as the best, within the margin",
    "undecided": "these trials do not tell",
    "worse": "decided: slower than the arm it is compared with (larger, or more costly, where "
    "that is judged), delivering less, or never working",
    "alone": "the only contender with data: nothing to compare it with",
    "reference": "the floor: a bound, not a contender",
    "no data": "nothing to compare",
}


def write_html(doc: Shown, path: Path | str, evaluated: Evaluated = NOT_EVALUATED) -> None:
    """Write the report of a show document (docs/formats/show.md) to `path`, one file of about 3 MB;
    beside it NAME-figures.html where its suite repeats figures of a published evaluation."""
    redrawn = evaluated.write_figures(Path(path))
    write_whole(path, render_html(doc, evaluated, redrawn=redrawn))


def render_html(
    doc: Shown, evaluated: Evaluated = NOT_EVALUATED, *, redrawn: str | None = None
) -> str:
    """`redrawn`: the page with the redrawn figures beside it, if there is one."""
    specs: list[dict[str, Any]] = []
    with debug_mode(False):  # the schema's checks of what we write take longer than to write it
        workloads = [
            _workload(doc, number, workload, specs) for number, workload in enumerate(doc.workloads)
        ]
    return render_page(
        "page.html.j2",
        specs,
        doc=doc,
        redrawn=redrawn,
        campaign=doc.campaign,
        machine=doc.machine,
        calibrated=calibration_line(doc.machine),
        workloads=workloads,
        concluded=_by_workload(doc, "conclude"),
        cautions=_by_workload(doc, "caution"),
        more=more.lines(doc),
        glossary=doc.glossary,
        verdicts=VERDICTS,
        outcomes=interop.OUTCOMES,
        conditions=outcomes.shown(doc),
        bring_up=bring_up.shown(doc),
        ros_variables=ros_variables.shown(doc),
        ros_notes=ros_variables.notes(doc.ros_variables) if doc.ros_variables else [],
        recordings=recordings.shown(doc),
        recording_notes=recordings.notes(doc),
        claimed=evaluated.section,
        claim_answers=evaluated.answers,
        claims_style=Markup(asset("claims.css")),
        done=done,
    )


def _workload(
    doc: Shown, number: int, workload: Workload, specs: list[dict[str, Any]]
) -> dict[str, Any]:
    """What the template shows of a workload; its charts are added to `specs` and referred to by
    their place."""
    looks = look.looks(workload.arms)
    shown = {column: columns.chosen(workload, column) for column in columns.of(workload)}
    drawn = [
        _drawing(figure, specs)
        for figure in figures(workload, phone=True)
        if figure.spec is not None or figure.key == "loss"
    ]
    notes: dict[str, list[str]] = {}
    for arm in workload.arms:
        for flag in arm.flags:
            notes.setdefault(flag, []).append(arm.arm)
    return {
        "number": number,
        "of": workload,
        "headline": headline(workload, conditions(doc).get(workload.workload)),
        "columns": [
            (column, metric, columns.title(column, metric)) for column, metric in shown.items()
        ],
        "arms": [
            _arm(f"{number}-{place}", arm, looks[arm.arm])
            | {"family": columns.family_begins(workload, place)}
            for place, arm in enumerate(workload.arms)
        ],
        "figures": [drawing for drawing in drawn if drawing["figure"].key != "comparison"],
        "comparison": next(
            (drawing for drawing in drawn if drawing["figure"].key == "comparison"), None
        ),
        "why": [
            _drawing(one, specs) | {"keys": one.keys, "tables": one.tables}
            for one in (
                *chains(workload, phone=True),
                *explained(workload, phone=True),
                *links(workload, phone=True),
            )
        ],
        "effect_columns": effects.columns(workload),
        "groups_of_metrics": wire.groups(workload),
        "topics": [
            _topic(number, place, topic, specs) for place, topic in enumerate(workload.topics)
        ],
        "topic_rows": topic_rows.rows(workload) if workload.topics else [],
        "matrix": interop.shown(workload) if workload.matrix else [],
        "notes": notes,
        "groups": _groups(workload),
        "card": " · ".join(card(doc, workload)),
    }


def _topic(number: int, place: int, topic: Topic, specs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the template shows of a topic that is judged by itself."""
    looks = look.looks(topic.arms)
    shown = {column: columns.chosen(topic, column) for column in columns.of(topic)}
    drawn = [
        _drawing(figure, specs)
        for figure in of_topic(topic, phone=True)
        if figure.spec is not None or figure.key == "loss"
    ]
    return {
        "number": f"{number}-t{place}",
        "of": topic,
        "facts": topics.facts(topic),
        "headline": headline(topic) if topic.judged else None,
        "columns": [
            (column, metric, columns.title(column, metric)) for column, metric in shown.items()
        ],
        "arms": [
            {
                "of": arm,
                "look": looks[arm.arm],
                "shown": {name: fmt.metric(entry) for name, entry in arm.metrics.items()},
                "what": by_what_whole(arm),
            }
            for arm in topic.arms
        ],
        "figures": drawn,
    }


def _drawing(figure: Picture, specs: list[dict[str, Any]]) -> dict[str, Any]:
    """A figure and the place of its chart in `specs`, to which it is added; None where it has no
    chart."""
    if figure.spec is None:
        return {"figure": figure, "place": None}
    specs.append(
        {
            "datasets": figure.spec["datasets"],
            "wide": _without_data(figure.spec),
            "narrow": figure.narrow and _without_data(figure.narrow),
        }
    )
    return {"figure": figure, "place": len(specs) - 1}


def _arm(key: str, arm: Arm, style: look.Look) -> dict[str, Any]:
    metrics = []
    for name, entry in arm.metrics.items():
        values = arm.per_trial.get(name, ())
        largest = (
            max((v for item in values if (v := fmt.finite(item.value)) is not None), default=0) or 1
        )
        trials = [
            {
                "trial": item.trial,
                "block": item.block,
                "text": fmt.never(entry)
                if item.value == inf
                else fmt.quantity(fmt.finite(item.value), entry.unit),
                "share": ""
                if item.value == inf
                else round(100 * (fmt.finite(item.value) or 0) / largest),
            }
            for item in values
        ]
        metrics.append({"name": name, "shown": fmt.metric(entry), "trials": trials})
    return {
        "key": key,
        "of": arm,
        "look": style,
        "metrics": metrics,
        "shown": {metric["name"]: metric["shown"] for metric in metrics},
        "floor": fmt.ratio(arm.times_floor),
        "what": by_what_whole(arm),
        "ratio": fmt.ratio(arm.verdict.ratio),
    }


def _groups(workload: Workload) -> list[tuple[str, list[tuple[str, str]]]]:
    """The contenders by verdict, those that are worse each with what it is worse by: (verdict,
    [(arm, text)])."""
    groups = []
    for verdict in VERDICTS:
        members = [
            (
                arm.arm,
                by_what(arm),
                None if arm.verdict.ratio is None else fmt.finite(arm.verdict.ratio.value),
            )
            for arm in workload.arms
            if arm.verdict.verdict == verdict and arm.role != "floor"
        ]
        if verdict == "worse":
            members.sort(key=lambda member: inf if member[2] is None else member[2])
        groups.append((verdict, [(name, what) for name, what, _ in members]))
    return [group for group in groups if group[1]]


def _without_data(spec: dict[str, Any]) -> dict[str, Any]:
    """Both variants of a chart draw the same rows: they are in the page once."""
    return {key: value for key, value in spec.items() if key != "datasets"}


def _by_workload(doc: Shown, kind: Kind) -> list[tuple[str, list[str]]]:
    """Conclusions under the titles of their workloads, in the document's order; the general ones
    last."""
    titles = {workload.workload: workload.title for workload in doc.workloads}
    found: dict[str, list[str]] = {}
    for where, text in said_once(doc, kind, titles):
        found.setdefault(where or "In general", []).append(text)
    return list(found.items())
