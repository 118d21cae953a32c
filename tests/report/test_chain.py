"""Of a chain the sentence, the table and the pictures say what its verdict judges: what reached its
end, and what became of the rest."""

import pytest

from rmwbench.bundle import Bundle
from rmwbench.report import table_columns
from rmwbench.report.chart.workload_charts import figures
from rmwbench.report.explain.explain_view import view
from rmwbench.results.answer.headline import headline
from rmwbench.results.explain.explain_document import explanations
from rmwbench.results.show_document import summarise
from rmwbench.words.numbers import significant_count
from tests.support import chain_bundle
from tests.support.views import printed


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    made = tmp_path_factory.mktemp("chains")
    asked = {
        "best_effort": ("best_effort",),
        "reliable": ("reliable",),
        "unlike": ("best_effort", chain_bundle.UNLIKE),
    }
    return {name: chain_bundle.write(made / name, *one) for name, one in asked.items()}


@pytest.fixture(scope="module")
def workload(bundles):
    return answer(bundles["best_effort"])


def answer(bundle):
    (workload,) = summarise(Bundle(bundle)).workloads
    return workload


def test_what_comes_behind_the_drain_is_late_in_every_place(bundles, workload):
    said = headline(workload).answer
    assert "zenoh tuned loses 10 % of its messages" in said
    assert "cyclonedds tuned has 19 % of its messages still under way when the trials end" in said
    arms = {arm.arm: arm for arm in workload.arms}
    shares = {
        column.title: [round(arms[name].value(column.metrics[0]), 2) for name in chain_bundle.ARMS]
        for column in table_columns.of(workload)
        if column.title in ("lost", "late")
    }
    assert shares == {"lost": [0, 0.1, 0], "late": [0, 0, 0.19]}
    late = arms["cyclonedds tuned"].chain
    assert late.overdue > 0 == late.under_way == sum(part.lost for part in late.parts)
    text = printed(view(explanations(Bundle(bundles["best_effort"]))), 200)
    assert f"{significant_count(late.overdue)} messages (18.9 %) were still under way" in text


def test_over_reliable_links_the_same_is_under_way_and_decides_nothing(bundles):
    (late,) = (arm for arm in answer(bundles["reliable"]).arms if arm.arm == "cyclonedds tuned")
    assert late.value("end_to_end_undelivered") == late.chain.overdue == 0 < late.chain.under_way
    assert late.verdict.by != "delivery"


@pytest.mark.parametrize("name", ["best_effort", "unlike"])
def test_its_pictures_are_of_its_ends_also_where_its_topics_are_unlike(bundles, name):
    workload = answer(bundles[name])
    assert bool(workload.topics) == (name == "unlike")
    drawn = {one.key: one for one in figures(workload) if one.spec is not None}
    assert {"comparison", "spectrum", "ecdf", "series", "loss", "late"} <= drawn.keys()
    rows = {row["arm"]: row["value"] for row in drawn["loss"].spec["datasets"]["rows"]}
    assert rows == {arm.arm: arm.value("end_to_end_loss") for arm in workload.arms}
