"""A limits file: one model for `outcomes:`, `capacity --limits`, `show --limits` and `decide`."""

from pathlib import Path

import pytest

from rmwbench.analysis.capacity.limit import of_limits, parse_limit
from rmwbench.errors import UserError
from rmwbench.suite.file.limits_file import read_limits
from rmwbench.suite.file.load import load, parse
from rmwbench.suite.limits import KEYS, METRICS, metric_of

from .suite_text import edited

TEXT = """\
limits: mine
acceptable:
  undelivered: 0.001
  response_latency_p99_ms: 20
  cpu_cores: 1.5
  pss_mib: 400
of:
  workload: cameras
  levels: {network.loss: 0.1}
"""
SHIPPED = sorted((Path(__file__).parents[2] / "limits").glob("*.yaml"))


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "limits.yaml"
    path.write_text(text)
    return path


def test_every_limit_is_read_in_its_metrics_own_unit(tmp_path):
    limits = read_limits(written(tmp_path, TEXT))
    assert {limit["metric"]: limit["at_most"] for limit in limits.document()["acceptable"]} == {
        "undelivered": 0.001,
        "response_latency_p99": 20e6,
        "cpu_cores": 1.5,
        "pss": 400 * 1024 * 1024,
    }
    assert [metric_of(key) for key in KEYS] == list(METRICS)


def test_a_case_is_a_workload_at_its_levels(tmp_path):
    of = read_limits(written(tmp_path, TEXT)).of
    assert of.has("cameras", {"network.loss": 0.1, "message": "Array1k"})
    assert not of.has("cameras", {"network.loss": 0.2})
    assert not of.has("cameras", {})
    assert not of.has("imu", {"network.loss": 0.1})


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ("undelivered: 0.001", "undeliverd: 0.001", 3, "did you mean `undelivered`"),
        ("pss_mib: 400", "pss: 400", 6, "`pss_mib`, in MiB"),
        ("p99_ms: 20", "p99: 20", 4, "has no unit"),
        ("cpu_cores: 1.5", "cpu_cores: much", 5, "is not a number"),
        ("undelivered: 0.001", "undelivered: 2", 3, "is a fraction"),
        ("limits: mine\n", "", 1, "missing key `limits`"),
        ("workload: cameras", "worklod: cameras", 8, "unknown key `worklod`"),
        ("acceptable:", "  acceptable:", 2, "not YAML"),
    ],
)
def test_a_mistake_has_its_line(tmp_path, before, after, line, words):
    path = written(tmp_path, TEXT.replace(before, after))
    with pytest.raises(UserError) as caught:
        read_limits(path)
    assert caught.value.where == f"{path}:{line}"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.mkdir(), "cannot read the limits file"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not text"),
        (lambda path: path.write_text("a" * 70_000), "cannot read the limits file"),
    ],
)
def test_a_file_that_is_not_valid_is_one_error(tmp_path, make, words):
    make(tmp_path / "limits.yaml")
    with pytest.raises(UserError) as caught:
        read_limits(tmp_path / "limits.yaml")
    assert words in str(caught.value)


def test_the_outcomes_of_a_suite_may_be_a_limits_file(tmp_path):
    written(tmp_path, TEXT.partition("of:")[0])
    suite = tmp_path / "f.yaml"
    suite.write_text(edited(more="outcomes: limits.yaml\n"))
    limits = load(suite).outcomes
    assert limits.document() == {
        key: value for key, value in read_limits(tmp_path / "limits.yaml").document().items()
    }


@pytest.mark.parametrize(
    ("case", "other"),
    [
        ("workload: w", None),
        ("levels: {depth: 1}", "w [depth=10]"),
        ("workload: cameras", "w [depth=1]"),
    ],
)
def test_limits_of_one_case_are_not_the_outcomes_of_another(tmp_path, case, other):
    """They were: cells of other workloads missed limits that are not theirs."""
    written(tmp_path, f"limits: a\nacceptable: {{undelivered: 0.1}}\nof: {{{case}}}\n")
    suite = tmp_path / "f.yaml"
    suite.write_text(edited(more="outcomes: limits.yaml\nfactors: {depth: [1, 10]}\n"))
    if other is None:
        assert load(suite).outcomes
        return
    with pytest.raises(UserError, match="these limits are for one case") as caught:
        load(suite)
    assert caught.value.where.endswith("f.yaml:13") and f"`{other}`" in caught.value.what


def test_a_path_that_no_file_can_have_is_one_error():
    with pytest.raises(UserError, match="cannot read the limits file"):
        parse(edited(more='outcomes: "a\\0.yaml"\n'), where="f.yaml")


def test_a_search_takes_the_same_file_where_it_can_judge_it(tmp_path):
    text = "limits: a\nacceptable: {loss: 0.00125, response_latency_p99_ms: 5.125}\n"
    document = read_limits(written(tmp_path, text)).document()
    limit = of_limits(document, "f")
    assert {c.metric: c.below for c in limit.conditions} == {
        "loss": 0.00125,
        "response_latency_p99": 5.125e6,
    }
    assert limit.text == "loss ≤ 0.125 %, p99 response ≤ 5.125 ms"
    assert parse_limit(limit.text) == limit
    with pytest.raises(UserError, match="does not judge `pss`"):
        of_limits(
            read_limits(written(tmp_path, TEXT.replace("  cpu_cores: 1.5\n", ""))).document(), "f"
        )


@pytest.mark.parametrize("number", ["0.07", "1.2345678", "4.35", "0.123456789012345", "1e-7"])
def test_a_search_is_told_the_number_of_the_file_in_all_its_digits(tmp_path, number):
    text = f"limits: a\nacceptable: {{response_latency_p99_ms: {number}}}\n"
    limit = of_limits(read_limits(written(tmp_path, text)).document(), "f")
    assert parse_limit(limit.text) == limit
    assert parse_limit(f"p99 response <= {number} ms") == limit


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_shipped_limits_are_read(path):
    assert read_limits(path).limits == path.stem
    assert len(SHIPPED) == 3
