"""How long each step of a trial may take: every one has its own limit, so a trial has one too."""

from rmwbench.suite.side import bare

HELLO_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 10.0
PER_PROCESS_S = 0.2
"""More for each process of a trial: two hundred share the processors while they start, and while
they are asked."""
MATCH_MARGIN_S = 2.0
FINISH_MARGIN_S = 2.0

# A large first message may be slow; a second one sent too early queues behind it. So the next one
# waits for twice what it takes at the rate of the slowest link, within a host at this one, longer.
PROBE_INTERVAL_S = 0.05
PROBE_INTERVAL_MAX_S = 0.8
HOST_RATE_BPS = 1e9
# Nothing came for so long, at least: what is missing of a stream that repeats nothing is lost.
PROBES_QUIET_S = 0.25

START_LEAD_NS = 40_000_000  # a busy machine takes this long to tell two processes; late is void
START_LEAD_NETWORK_NS = 30_000_000  # the link is told its changes first, which takes up to 14 ms
START_LEAD_PER_PROCESS_NS = 2_000_000  # a hundred workers take a while to be told
START_LEAD_MACHINES_NS = 400_000_000  # a WiFi between machines may hold a command up for as long
# A drain of reliable endpoints ends when nothing came for the longest of these.
DRAIN_QUIET_S = 1.0
DRAIN_QUIET_LATENCIES = 3  # times the longest latency that the arm has shown
# until a lost tail is repeated: heartbeatPeriod as installed, natively and through a client library
HEARTBEAT_S = {"fastdds": 3.0, "rmw_fastrtps_cpp": 3.0, "rmw_fastrtps_dynamic_cpp": 3.0}

JOIN_LEAD_NS = 1_000_000
TICKS_LEAD_NS = 2_000_000


def heartbeat_s(middleware: str) -> float:
    """How long a writer of it may wait before it repeats the last message; 0 where that is shorter
    than everything else."""
    return HEARTBEAT_S.get(bare(middleware).rpartition("/")[2], 0.0)


def of_all(limit_s: float, processes: int) -> float:
    """How long the slowest of so many may take, where all are asked at once and one would have
    `limit_s`."""
    return limit_s + PER_PROCESS_S * processes
