"""What else the machine does during a trial: a background load of a known kind, and processors kept
awake or not.

Both are conditions of the machine and not settings of a middleware; `rmwbench-load` puts them on
(docs/formats/load.md).
"""

from typing import Annotated

from pydantic import AfterValidator

from rmwbench.suite.fault import unknown

BACKGROUNDS = {
    "idle": "nothing of ours",
    "cpu50": "half of every processor computes, in periods of 10 ms",
    "cpu100": "every processor computes all the time",
    "membw": "half of every processor copies memory that no cache holds",
    "traffic": "10 000 datagrams of 1400 bytes per second over lo, 112 Mbit/s",
}
HOST_IDLE = {
    "as_found": "processors sleep as the machine lets them",
    "awake": "/dev/cpu_dma_latency held at 0, and a spinner that gives way to everything on each "
    "processor",
}


def _background(level: str) -> str:
    if level not in BACKGROUNDS:
        raise unknown("background", level, list(BACKGROUNDS))
    return level


def _host_idle(level: str) -> str:
    if level not in HOST_IDLE:
        raise unknown("host_idle", level, list(HOST_IDLE))
    return level


Background = Annotated[str, AfterValidator(_background)]
HostIdle = Annotated[str, AfterValidator(_host_idle)]
