"""Wishes that make no sense or that nothing here can grant: refused before anything is written."""

import pytest

ARM, RATE = "middleware: fake}", "rate_hz: 400}"
FLOW = "{name: small, message: Bytes(100), rate_hz: 400}"


def of_arm(more):
    return ARM, f"middleware: fake, {more}}}", 6


def of_nodes(talker, listener, more=""):
    nodes = f"nodes: [{{name: a, {talker}}}, {{name: b, {listener}}}]{more}"
    return FLOW, f"{FLOW[:-1]}, {nodes}}}", 8


TALKS, HEARS = "publishers: [{topic: t}]", "subscriptions: [{topic: t}]"
FAR = of_nodes(f"host: left, {TALKS}", f"host: right, {HEARS}", ", network: thin")
UNLIKE = of_nodes("publishers: [{topic: t, qos: {reliability: best_effort}}]", HEARS)
EDITS = {
    "middleware": (ARM, "middleware: fak}", 6, "unknown middleware `fak`", "did you mean `fake`?"),
    "profile": (*of_arm("profile: untuched"), "no profile", "did you mean 'untouched'?"),
    "profile file": (*of_arm("profile: ./mine.xml"), "cannot be read", "relative to the suite"),
    "path": (*of_arm("options: {path: smh}"), "unknown path `smh`", "did you mean `shm`?"),
    "factor": (
        "workloads:",
        "factors: {depht: [1, 2]}\nworkloads:",
        7,
        "unknown factor `depht`",
        "mean `depth`?",
    ),
    "quality of service": (
        RATE,
        "rate_hz: 400, qos: {history: keep_all, depth: 3}}",
        8,
        "`depth` contradicts `history: keep_all`",
        "remove `depth`",
    ),
    "qualities that never match": (*UNLIKE, "never matches", "best_effort"),
    "too short a payload": ("Bytes(100)", "Bytes(63)", 8, "cannot carry", "use Bytes(64) or more"),
    "payload beyond any message": (
        "Bytes(100)",
        "Bytes(8000000000)",
        8,
        "larger than any middleware carries",
        "at most 1073741824 bytes",
    ),
    "rate beyond the clock": (RATE, "rate_hz: 3e6}", 8, "the clock cannot hold", "saturation"),
    "rate of nothing": (RATE, "rate_hz: 0}", 8, "positive", "more than 0 Hz"),
    "capability": (*of_arm("loan: true"), "cannot do what workload `small` asks", "exclude"),
    "a network that is not there": (*FAR, "unknown network `thin`", "the file defines no network"),
    "too much memory": (
        "Bytes(100), rate_hz: 400}",
        "Bytes(1000000000), rate_hz: 400, qos: {depth: 100000}}",
        None,
        "not enough memory",
        "--workload NAME",
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_what_a_suite_file_cannot_ask_is_refused_with_its_line(user, what):
    old, new, line, complaint, advice = EDITS[what]
    user.edit(old, new)
    error = user.is_refused("run", "mini.yaml", "--out", "out")
    assert complaint in error and advice in error
    if line:
        assert f"mini.yaml:{line}: " in error.splitlines()[0]


@pytest.mark.parametrize("verb", ["run", "plan"])
def test_an_unknown_suite_is_refused_with_the_nearest(user, verb):
    error = user.is_refused(verb, "quikc")
    assert "no suite is called `quikc`" in error and "did you mean `quick`?" in error
    assert "no such file" in user.is_refused(verb, "gone.yaml")


@pytest.mark.parametrize(
    ("part", "does"),
    [
        ("galactic-2020/community", "rmwbench published community"),
        ("fastdds-2021/questionnaire", "rmwbench published questionnaire"),
    ],
)
def test_a_part_of_an_evaluation_without_a_suite_is_refused_with_the_verb_that_it_is(
    user, part, does
):
    assert f"do: {does}" in user.is_refused("run", part)


@pytest.mark.parametrize(
    ("arguments", "complaint", "advice"),
    [
        (("--arm", "onee"), "has no arm `onee`", "did you mean `one`?"),
        (("--workload", "smal"), "has no workload `smal`", "did you mean `small`?"),
        (("--at", "rate_hz=5"), "no such level of a factor", "it has no factors"),
        (("--budget", "5"), "`5` is not a valid time", "did you mean `5m`?"),
        (("--budget", "soon"), "`soon` is not a valid time", "90s, 5m, 1h30m"),
        (("--budget", "0s"), "the time must not be zero", "more than 0 s"),
        (("--budget", "0.3s"), "budget is too small", "give it --budget 2s or more"),
        (("--budget", "99999999999h"), "budget is too large", "10000 blocks"),
    ],
)
def test_an_option_without_sense_is_refused(user, arguments, complaint, advice):
    error = user.is_refused("run", "mini.yaml", "--out", "out", *arguments)
    assert complaint in error and advice in error


def test_a_worker_that_is_not_built_is_named_with_the_command_that_builds_it(user):
    (user.workers / "rmwbench-fake").unlink()
    user.edit(ARM, "middleware: zenoh}")
    error = user.is_refused("run", "mini.yaml", "--out", "out")
    assert "zenoh: not built" in error and "do: rmwbench middlewares build zenoh" in error


@pytest.mark.parametrize("option", ["--threads", "--seed=0", "--arm=one", "--short", "--out=other"])
def test_what_belongs_to_the_plan_is_not_a_wish_of_a_resumed_campaign(user, campaign, option):
    files_before = user.tree()
    done = user.types("resume", "campaign", option)
    assert done.returncode == 2 and f"No such option: {option.partition('=')[0]}" in done.stderr
    assert user.tree() == files_before


REFUSED_BY_BOTH = (
    "middleware",
    "profile",
    "profile file",
    "path",
    "factor",
    "capability",
    "too much memory",
)


@pytest.mark.parametrize("what", REFUSED_BY_BOTH)
def test_the_plan_refuses_what_run_refuses_in_the_same_words(user, what):
    old, new, *_ = EDITS[what]
    user.edit(old, new)
    ran = user.is_refused("run", "mini.yaml", "--out", "out")
    assert user.is_refused("plan", "mini.yaml").splitlines()[0] == ran.splitlines()[0]


@pytest.mark.parametrize(
    ("limit", "needed"),
    [("undelivered: 0.001", "2995"), ("service_latency_p99_ms: 5", "1000"), ("loss: 0.01", "299")],
)
def test_a_limit_that_nothing_planned_can_decide_is_refused(user, limit, needed):
    user.edit("workloads:", f"outcomes: {{acceptable: {{{limit}}}}}\nworkloads:")
    error = user.is_refused("plan", "mini.yaml")
    assert "too few blocks to decide what is acceptable" in error and "mini.yaml:" in error
    few, enough = "blocks: {planned: 2, minimum: 2}", "blocks: {planned: 5}"
    user.suite.write_text(user.suite.read_text().replace(few, enough))
    error = user.is_refused("plan", "mini.yaml")
    assert "too few messages to decide" in error
    assert f"at least {needed} messages" in error and "200 in 5 blocks" in error
    user.suite.write_text(user.suite.read_text().replace("steady_s: 0.1", "steady_s: 5.0"))
    assert user.types("plan", "mini.yaml").returncode == 0
