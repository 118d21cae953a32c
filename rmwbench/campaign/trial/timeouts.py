"""The time limits of a trial's steps. Every step has one, so the trial has one, too."""

from rmwbench.suite.arm import bare

HELLO_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 10.0
PER_PROCESS_S = 0.2
"""The additional time for each process of a trial: all share the processors while they start, and
while they answer."""
MATCH_MARGIN_S = 2.0
FINISH_MARGIN_S = 2.0

# A large first message may be slow, and an early second one would queue behind it. So the next
# probe is later by twice the message's time on the slowest link, or at this rate within a host.
PROBE_INTERVAL_S = 0.05
PROBE_INTERVAL_MAX_S = 0.8
HOST_RATE_BPS = 1e9
# Missing probes of a stream without repeats are lost if nothing came for this time, at least.
PROBES_QUIET_S = 0.25

START_LEAD_NS = 40_000_000  # a busy machine needs this to tell two processes; a late start is void
START_LEAD_NETWORK_NS = 30_000_000  # the link is sent its changes first, which takes up to 14 ms
START_LEAD_PER_PROCESS_NS = 2_000_000  # the command takes time to reach a hundred workers
START_LEAD_MACHINES_NS = 400_000_000  # a WiFi between machines may delay a command as much
# A drain of reliable endpoints ends when nothing came for the longest of these times.
DRAIN_QUIET_S = 1.0
DRAIN_QUIET_LATENCIES = 3  # times the longest latency that the arm has shown
# The time until a lost last message is repeated: the default heartbeatPeriod.
HEARTBEAT_S = {"fastdds": 3.0, "rmw_fastrtps_cpp": 3.0, "rmw_fastrtps_dynamic_cpp": 3.0}

JOIN_LEAD_NS = 1_000_000
TICKS_LEAD_NS = 2_000_000


def heartbeat_s(middleware: str) -> float:
    """Return the longest time until a writer of this middleware repeats the last message; 0 if it
    is shorter than the other times."""
    return HEARTBEAT_S.get(bare(middleware).rpartition("/")[2], 0.0)


def limit_of_all(limit_s: float, processes: int) -> float:
    """Return the time limit for a number of processes that are asked at once; `limit_s` is the
    limit of one process."""
    return limit_s + PER_PROCESS_S * processes
