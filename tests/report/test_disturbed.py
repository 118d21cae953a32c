"""What the machine did to trials that were kept, as marks of an arm."""

from rmwbench.analysis.verdicts import disturbances
from rmwbench.report.show.workload_view import arms_by_note, note_on_single_arms, notes_of_most_arms
from rmwbench.results.show_model import SuiteAnswer
from tests.support.typed import typed


def flag(text, event="flag"):
    return {"event": event, "text": text}


def texts(trials, events):
    return [one.text for one in disturbances.disturbances(trials, events)]


def test_a_flag_in_half_of_the_trials_is_a_mark_and_one_in_fewer_is_not():
    events = {
        1: [flag("canary: 4% late"), flag("steal: 2%")],
        2: [flag("canary: 9% late")],
        3: [],
        4: [],
    }
    assert texts([1, 2, 3, 4], events) == ["machine: canary in 2 of 4 trials; the last: 9% late"]
    assert texts([1], events) == [
        "machine: canary in 1 of 1 trials; the last: 4% late",
        "machine: steal in 1 of 1 trials; the last: 2%",
    ]


def test_the_code_of_a_flag_counts_and_not_the_wording_of_its_text():
    worded = flag("little was idle: 3 %") | {"code": "machine_bound"}
    otherwise = flag("hardly any processor time was left") | {"code": "machine_bound"}
    (mark,) = disturbances.disturbances([1, 2], {1: [worded], 2: [otherwise]})
    assert (mark.code, mark.trials, mark.of) == ("machine_bound", 2, 2)


def test_conditions_are_told_where_they_are_not_the_usual_ones():
    told = disturbances.conditions
    assert told({}) is None
    assert (
        told({"conditions": {"background": "idle", "host_idle": "as_found"}})
        == "nothing else running"
    )
    assert (
        told({"conditions": {"background": "cpu50", "host_idle": "awake"}})
        == "background cpu50, host_idle awake"
    )


def arm(name: str, late: str, *more: str) -> dict:
    text = f"machine: canary in 5 of 5 trials; the last: {late} late"
    return {
        "arm": name,
        "flags": [text, *more],
        "unlike": list(more),
        "disturbed": [text],
        "disturbed_by": {"canary": 5},
    }


def test_what_most_arms_have_is_said_once_and_what_is_of_one_stands_elsewhere():
    imu = {"arms": [arm("a", "9 %", "through UDP"), arm("b", "8 %")]}
    camera = {"arms": [arm("a", "7 %", "through UDP"), arm("b", "6 %"), arm("c", "5 %")]}
    doc = typed(SuiteAnswer, {"workloads": [imu, camera], "campaign": {"directory": "there"}})
    assert notes_of_most_arms(doc) == [
        "Every arm, for example: machine: canary in 5 of 5 trials; the last: 9 % late"
    ]
    assert "special about a:" in note_on_single_arms(
        doc
    ) and "explain there" in note_on_single_arms(doc)
    assert arms_by_note(doc.workloads[0])["through UDP"] == ["a"]
