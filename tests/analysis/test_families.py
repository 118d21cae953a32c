"""Arms by copy and by loan do different work: each family has a best, a floor and a sentence of its
own, and nothing is decided between the two."""

from dataclasses import replace

from rmwbench.analysis.verdicts import best, sequential
from rmwbench.analysis.verdicts.best import over_topics
from rmwbench.analysis.verdicts.verdict import Family, JudgedArm, Rules
from rmwbench.results.answer.headline import headline
from rmwbench.results.show_model import WorkloadAnswer
from tests.report.test_facts import part
from tests.support.judging import judged
from tests.support.typed import typed

BLOCKS = 8


def arm(name: str, level: float, family: Family, **changed) -> JudgedArm:
    """Blocks scatter by some per cent, in an order of its own."""
    noise = [1 + 0.02 * ((7 * block + len(name)) % 5 - 2) for block in range(BLOCKS)]
    blocks = range(BLOCKS)
    sent = {b: (0, 1000) for b in blocks}
    values = {b: level * noise[b] for b in blocks}
    return replace(JudgedArm(name, values, sent, family=family), **changed)


COPYING = [arm("a", 100.0, Family.COPY), arm("bb", 300.0, Family.COPY)]
LOANED = [arm("ccc", 10.0, Family.LOAN), arm("dddd", 30.0, Family.LOAN)]


def test_each_family_has_its_best_and_nobody_is_worse_than_an_arm_of_the_other():
    verdicts = judged(COPYING + LOANED)
    assert [v.verdict for v in verdicts.values()] == ["best", "worse", "best", "worse"]
    assert verdicts["bb"].against == "a" and verdicts["dddd"].against == "ccc"


def test_a_lone_arm_of_a_family_is_alone_however_slow_it_is():
    verdicts = judged([*LOANED, COPYING[1]])
    assert verdicts["bb"].verdict == "alone"


def test_looks_keep_the_decisions_of_each_family():
    verdicts = sequential.judge({"w": COPYING + LOANED}, Rules(), (5, 8))["w"]
    assert verdicts["bb"].verdict == verdicts["dddd"].verdict == "worse"
    assert verdicts["a"].verdict == verdicts["ccc"].verdict == "best"


def test_an_arm_that_never_works_is_so_beside_whatever_works():
    dead = JudgedArm("dead", {}, failed=frozenset(range(BLOCKS)), family=Family.LOAN)
    verdicts = judged([*COPYING, dead])
    assert verdicts["dead"].verdict == "worse" and verdicts["dead"].by == "failure"


def test_over_topics_the_best_of_a_family_is_best_in_it():
    families = {one.name: one.family for one in COPYING + LOANED}
    by_topic = best.judge({"x": COPYING + LOANED, "y": COPYING + LOANED}, Rules())
    overall = over_topics(by_topic, families=families)
    verdicts = {name: one.verdict.verdict for name, one in overall.items()}
    assert verdicts == {"a": "best", "bb": "worse", "ccc": "best", "dddd": "worse"}


def test_the_answer_has_a_sentence_for_each_family_and_never_one_best_of_both():
    arms = COPYING + LOANED
    workload = typed(WorkloadAnswer, part(arms, judged(arms)) | {"workload": "w"})
    told = headline(workload)
    assert told.answer.startswith("By copy: take a: ") and " By loan: take ccc: " in told.answer
    for text in (told.lead, told.rest):  # what to take is printed larger
        assert text.startswith("By copy: ") and " By loan: " in text
    assert "as long" in told.rest and "as long" not in told.lead
    alone = replace(workload, arms=workload.arms[:2])
    assert headline(alone).answer.startswith("Take a: ")
