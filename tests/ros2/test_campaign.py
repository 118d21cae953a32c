"""rclcpp as a user runs it: a campaign over every way to execute callbacks, within a process,
called as a service, and with the layers traced."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from rmwbench.suite.arm import WORDS
from tests.ros2 import sourced

pytestmark = [sourced.needed, pytest.mark.timing]
WRITER = [1, 2, 3, 4, 5, 6]
READER = [7, 8, 9, 10, 11, 12]
SUITE = """
suite: ros2
title: rclcpp
blocks: {{minimum: 2, planned: 2}}
timeline: {{warmup_s: 0.1, drain_s: 0.5}}
arms:
{arms}
workloads:
  - name: stream
{topology}
    message: {message}
    rate_hz: 100
    qos: {{reliability: reliable, durability: volatile, history: keep_last, depth: 100}}
    touch: all
    timeline: {{steady_s: 0.3}}
"""
ONE_PROCESS = """    nodes:
      - {name: talker, process: one, publishers: [{topic: t}]}
      - {name: listener, process: one, subscriptions: [{topic: t}]}
"""
ONE_AND_OUTSIDE = (
    ONE_PROCESS + "      - {name: outside, process: other, subscriptions: [{topic: t}]}\n"
)


def run(
    tmp_path: Path, arms: dict[str, dict], topology: str = "", message: str = "Bytes(1000)"
) -> Path:
    """Runs the suite over these arms; returns the bundle."""
    lines = "\n".join(f"  - {json.dumps({'name': name, **arm})}" for name, arm in arms.items())
    return campaign(
        tmp_path, SUITE.format(arms=lines, topology=topology.rstrip("\n"), message=message)
    )


def campaign(tmp_path: Path, text: str) -> Path:
    """Runs the suite of this text; returns the bundle."""
    said = told(tmp_path, text)
    bundle = tmp_path / "bundle"
    assert (bundle / "tables").is_dir(), said
    return bundle


def told(tmp_path: Path, text: str) -> str:
    """Runs the suite of this text; returns what is said of it, in one line."""
    tmp_path.mkdir(exist_ok=True)
    suite = tmp_path / "ros2.yaml"
    suite.write_text(text)
    rmwbench = Path(sys.executable).parent / "rmwbench"
    command = [rmwbench, "run", suite, "--out", tmp_path / "bundle", "--no-report"]
    done = subprocess.run(command, capture_output=True, text=True)
    return " ".join((done.stdout + done.stderr).split())


def rows(bundle: Path, sql: str) -> list[tuple]:
    """`sql` over the bundle's tables by their names."""
    connection = duckdb.connect()
    for table in (bundle / "tables").iterdir():
        connection.sql(f"create view {table.name} as select * from '{table}/*.parquet'")
    return connection.sql(sql).fetchall()


def finished_trials(bundle: Path) -> int:
    """How many trials are done. Fails where one is not, unless the machine disturbed it, which then
    ran again."""
    found = rows(bundle, "select status, reason from trials")
    assert all(status == "done" or reason.startswith("machine") for status, reason in found), found
    return sum(status == "done" for status, _ in found)


def everything_arrived(bundle: Path, readers: int = 1) -> None:
    """In each trial; one that the machine disturbed ran again."""
    if not finished_trials(bundle):
        pytest.skip("the machine disturbed every trial")
    counts = rows(
        bundle,
        """select arm, trial, (select count(*) from sent where sent.trial = trials.trial),
        (select count(*) from received where received.trial = trials.trial)
        from trials join cells using (cell) where status = 'done'""",
    )
    assert counts and all(
        sent > 0 and received == readers * sent for _, _, sent, received in counts
    ), counts


@pytest.mark.parametrize("rmw", sourced.RMWS)
def test_every_executor_carries_messages(tmp_path, rmw):
    sourced.worker(rmw)
    middleware = {"middleware": f"rclcpp/{rmw}"}
    arms = {
        executor: middleware | {"modes": {"executor": executor}} for executor in WORDS["executor"]
    }
    everything_arrived(run(tmp_path, arms))


@pytest.mark.parametrize(
    "topology", [ONE_PROCESS, ONE_AND_OUTSIDE], ids=["alone", "and one outside"]
)
def test_messages_of_the_own_process_do_not_pass_the_middleware(tmp_path, topology):
    rmw = "rmw_cyclonedds_cpp"
    sourced.worker(rmw)
    arms = {
        f"{publish} {callback}": {
            "middleware": f"rclcpp/{rmw}",
            "modes": {"transport": "intra_process"},
            "options": {"publish": publish, "callback": callback},
        }
        for publish in ("unique_ptr", "const_ref")
        for callback in ("unique_ptr", "shared_ptr", "const_ref")
    }
    arms["filled in place"] = {
        "middleware": f"rclcpp/{rmw}",
        "modes": {"transport": "intra_process"},
        "loan": True,
    }
    bundle = run(tmp_path, arms, topology)
    everything_arrived(bundle, readers=2 if topology is ONE_AND_OUTSIDE else 1)
    # The attested share of the bytes that stayed in the process: all of them, or half where one
    # reader is outside.
    shares = rows(
        bundle,
        """select trial, sum(fraction) from attestations join trials using (trial)
        where path = 'process' and status = 'done' group by all""",
    )
    expected = 0.5 if topology is ONE_AND_OUTSIDE else 1.0
    assert shares and all(share == pytest.approx(expected, abs=0.1) for _, share in shares), shares


@pytest.mark.parametrize("rmw", sourced.RMWS)
def test_traced_layers_stand_in_the_order_of_a_message(tmp_path, rmw):
    sourced.worker(rmw)
    traced = {"middleware": f"rclcpp/{rmw}", "options": {"layers": True}}
    bundle = run(
        tmp_path, {"traced": traced, "untraced": {"middleware": f"rclcpp/{rmw}"}}, message="Array4k"
    )
    everything_arrived(bundle)
    by_arm = (
        "select arm, count(spans.layer) from trials join cells using (cell) left join spans "
        "using (trial) group by arm"
    )
    counts = dict(rows(bundle, by_arm))
    assert counts["untraced"] == 0 < counts["traced"]
    writer = rows(
        bundle,
        """select call_ns, list(time_ns order by layer), list(layer order by layer), return_ns
        from sent join spans using (trial, endpoint, seq) group by all""",
    )
    assert writer
    for call_ns, times, layers, return_ns in writer:
        assert layers == WRITER and [call_ns, *times, return_ns] == sorted(
            [call_ns, *times, return_ns]
        )
    reader = rows(
        bundle,
        """select list(time_ns order by layer), list(layer order by layer), callback_ns
        from received join spans using (trial, endpoint, writer, seq) group by all""",
    )
    assert len(reader) == len(writer)
    for times, layers, callback_ns in reader:
        assert layers == READER and [*times, callback_ns] == sorted([*times, callback_ns])


TREES = pytest.mark.skipif(
    not sourced.has_package("tf2_msgs"), reason="the sourced ROS 2 has no tf2_msgs"
)


@TREES
@pytest.mark.parametrize("rmw", sourced.RMWS)
def test_the_numbers_of_a_tree_of_frames_arrive_in_their_places(tmp_path, rmw):
    sourced.worker(rmw)
    middleware = {"middleware": f"rclcpp/{rmw}"}
    arms = {"called": middleware | {"wait": "callback"}, "taken": middleware | {"wait": "block"}}
    bundle = run(tmp_path, arms, message="TFMessage(30)")
    everything_arrived(bundle)
    assert rows(bundle, "select count(*) from received where flags & 17 != 0") == [(0,)]


@TREES
def test_a_tree_of_frames_is_handed_on_within_a_process_and_never_lent(tmp_path):
    sourced.worker("rmw_cyclonedds_cpp")
    own = {"middleware": "rclcpp/rmw_cyclonedds_cpp", "modes": {"transport": "intra_process"}}
    arms = {"given away": own, "kept": own | {"options": {"publish": "const_ref"}}}
    everything_arrived(run(tmp_path, arms, ONE_PROCESS, "TFMessage(30)"))
    lines = f"  - {json.dumps({'name': 'lent', 'loan': True, **own})}"
    said = told(
        tmp_path / "lent",
        SUITE.format(arms=lines, topology=ONE_PROCESS.rstrip("\n"), message="TFMessage(30)"),
    )
    assert "do not lie together" in said, said


def test_fast_dds_lends_memory_for_types_of_fixed_size(tmp_path):
    sourced.worker("rmw_fastrtps_cpp")
    middleware = {"middleware": "rclcpp/rmw_fastrtps_cpp"}
    arms = {
        "lent": middleware | {"loan": True},
        "taken too": middleware | {"loan": True, "options": {"loaned_take": True}},
    }
    bundle = run(tmp_path, arms, message="Array4k")
    everything_arrived(bundle)
    assert rows(bundle, "select distinct (flags & 2) from sent") == [(2,)], (
        "each message was published by loan"
    )


@pytest.mark.parametrize("loan", [False, True])
def test_fast_dds_shares_its_history_where_the_profile_says_so(tmp_path, loan):
    """rmw_fastrtps switches data sharing off for each endpoint, unless the file may speak."""
    sourced.worker("rmw_fastrtps_cpp")
    middleware = {"middleware": "rclcpp/rmw_fastrtps_cpp", "options": {"path": "shm"}, "loan": loan}
    arms = {"as installed": middleware, "shared": middleware | {"profile": "data_sharing"}}
    bundle = run(tmp_path, arms, message="Array4k")
    everything_arrived(bundle)
    by_arm = """select arm, string_agg(segments) from attestations join trials using (trial)
        join cells using (cell) group by arm"""
    segments = dict(rows(bundle, by_arm))
    assert "fast_datasharing" in segments["shared"]
    assert "fast_datasharing" not in (segments["as installed"] or "")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_fast_dds_publishes_as_asked(tmp_path, mode):
    sourced.worker("rmw_fastrtps_cpp")
    everything_arrived(
        run(tmp_path, {mode: {"middleware": "rclcpp/rmw_fastrtps_cpp", "publish_mode": mode}})
    )


NEEDS_ROUDI = pytest.mark.skipif(not sourced.has_roudi(), reason=sourced.NO_ROUDI)
CYCLONE = {"middleware": "rclcpp/rmw_cyclonedds_cpp", "modes": {"transport": "shm"}}
FAST = {"middleware": "rclcpp/rmw_fastrtps_cpp"}


@NEEDS_ROUDI
def test_roudi_has_the_chunks_that_were_asked_for(tmp_path):
    sourced.worker("rmw_cyclonedds_cpp")
    pools = {"roudi_pools": "64K:200 9M:60"}
    arms = {"as installed": CYCLONE, "pools": {**CYCLONE, "options": pools}}
    bundle = run(tmp_path, arms, message="Array8m")
    assert finished_trials(bundle) >= 2
    by_arm = """select arm, count(received.seq) from trials join cells using (cell)
        left join received using (trial) group by arm"""
    arrived = dict(rows(bundle, by_arm))  # without a chunk for it no message is ever sent
    assert arrived["as installed"] == 0 < arrived["pools"], arrived


@pytest.mark.parametrize(
    ("arm", "pools", "words"),
    [
        pytest.param(CYCLONE, "8M", "expected SIZE:COUNT", marks=NEEDS_ROUDI),
        pytest.param(CYCLONE, "8M:0", "expected SIZE:COUNT", marks=NEEDS_ROUDI),
        pytest.param(CYCLONE, "8G:1", "expected SIZE:COUNT", marks=NEEDS_ROUDI),
        (FAST, "8M:1", "has no RouDi"),
    ],
)
def test_pools_that_make_no_sense_are_refused_with_the_form(tmp_path, arm, pools, words):
    sourced.worker(arm["middleware"].removeprefix("rclcpp/"))
    lines = f"  - {json.dumps({'name': 'a', **arm, 'options': {'roudi_pools': pools}})}"
    assert words in told(tmp_path, SUITE.format(arms=lines, topology="", message="Bytes(1000)"))
