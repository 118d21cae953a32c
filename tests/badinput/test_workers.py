"""Options and profiles that only a worker can judge, with the real floor and synthetic workers: the
line in the suite, the worker's own words, and the nearest name."""

import os
from types import SimpleNamespace

import pytest

from rmwbench.cli.runs import own_arm_failed
from rmwbench.suite.file.suite_files import suites_directory
from tests.lab import fake_worker, tools
from tests.support.program import script

pytestmark = pytest.mark.traffic


@pytest.fixture
def with_real_workers(user):
    for name in ("floor", "synthetic"):
        (user.workers / f"rmwbench-{name}").symlink_to(
            os.path.realpath(tools.worker(name).executable)
        )
    return user


@pytest.mark.parametrize(
    ("arm", "complaint", "advice"),
    [
        ("floor, options: {transprt: tcp}", "refuses option transprt", "did you mean `transport`?"),
        ("floor, options: {transport: tpc}", "refuses option transport", "did you mean `tcp`?"),
        (
            "synthetic, options: {latencyy: constant ns=5}",
            "refuses option latencyy",
            "did you mean `latency`?",
        ),
        (
            "synthetic, options: {latency: lognormal sigma=1}",
            "missing field `median_ns`",
            "latency: lognormal sigma=1",
        ),
        ("synthetic, options: {duplicate: 1.5}", "expected a probability", "duplicate: 1.5"),
        ("synthetic, profile: ./mine.json", "refuses profile mine", "correct the profile"),
        ("synthetic, profile: dmeo", "has no profile", "did you mean 'demo'?"),
        ("floor, publish_mode: async", "cannot do what workload `small` asks of floor", "exclude"),
    ],
)
def test_what_a_worker_refuses_is_learnt_before_the_campaign(
    with_real_workers, arm, complaint, advice
):
    user = with_real_workers
    (user.path / "mine.json").write_text('{"latency": ')
    user.edit("middleware: fake", f"middleware: {arm}")
    error = user.is_refused("run", "mini.yaml", "--out", "out")
    assert "mini.yaml:6: " in error.splitlines()[0] and complaint in error and advice in error


def test_a_factor_that_a_worker_refuses_is_named_with_its_line(with_real_workers):
    user = with_real_workers
    user.edit("middleware: fake}", "middleware: floor}\nfactors: {options.transprt: [tcp, unix]}")
    error = user.is_refused("run", "mini.yaml", "--out", "out")
    assert "mini.yaml:7: " in error.splitlines()[0] and "did you mean `transport`?" in error


def test_a_missing_sampler_is_told_before_anything_is_written(user):
    (user.workers / "rmwbench-sampler").unlink()
    text = user.is_refused("run", "mini.yaml", "--out", "out")
    assert "the sampler is not built" in text and "do: rmwbench middlewares build" in text


def test_a_sampler_of_another_version_is_not_a_sampler(user):
    path = user.workers / "rmwbench-sampler"
    script(path, 'echo \'{"tool": "sampler", "protocol": 99}\'')
    assert "protocol 99" in user.is_refused("run", "mini.yaml", "--out", "out")
    script(path, "exit 3")
    assert "the sampler does not answer" in user.is_refused("run", "mini.yaml", "--out", "out")


def test_an_arm_of_ones_own_that_never_came_to_its_end_is_said_first_and_no_success(user):
    """The other arm has good trials, but what was asked is not answered."""
    fake_worker.install(user.workers, "exit", "window", describe={"middleware": "broken"})
    user.edit("arms:", "arms:\n  - {name: mine, middleware: broken}")
    done = user.types("run", "mini.yaml", "--out", "out")
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert lines[1] == "a test" and lines[2].startswith("! mine failed in every trial: worker ")
    user.types("report", "out", "--format", "markdown")
    for report in ("report.html", "report.md"):
        page = (user.path / "out" / report).read_text()
        assert page.index("mine failed in every trial") < page.index("of 4 trials")
    assert user.types("run", "mini.yaml", "--out", "other", "--no-report").returncode == 2
    ran = user.types("run", "mini.yaml", "--out", "alone", "--arm", "one", "--no-report")
    assert ran.returncode == 0


@pytest.mark.parametrize(
    ("arm", "suite", "statuses", "is_own"),
    [
        ("zenoh tuned", "quick.yaml", ("failed", "failed"), False),
        ("mine", "quick.yaml", ("failed", "void"), True),
        ("mine", "quick.yaml", ("failed", "done"), False),
        ("mine", "quick.yaml", ("void", "void"), False),
        ("zenoh batched", "features/batching.yaml", ("failed",), False),
        ("zenoh batched", "/home/me/robot.yaml", ("failed",), True),
    ],
)
def test_whose_arm_it_is_and_whether_it_ever_worked(arm, suite, statuses, is_own):
    plan = SimpleNamespace(cells=[{"cell": 1, "arm": {"name": arm}}])
    request = {"suite_file": str(suites_directory() / suite)}
    trials = [SimpleNamespace(cell=1, status=one) for one in statuses]
    campaign = SimpleNamespace(plan=plan, request=request)
    bundle = SimpleNamespace(campaign=campaign, trials=lambda: trials)
    assert own_arm_failed(bundle) is is_own
