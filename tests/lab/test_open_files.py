"""What a trial's processes may open: as much as the kernel lets a user have."""

import resource
import subprocess
import sys

import pytest

from rmwbench.lab.host import host

LIMITS = """
import resource, sys
from rmwbench.lab.host import host
soft, hard = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
told = host.attainable_file_limit()
host.raise_file_limit()
print(told, *resource.getrlimit(resource.RLIMIT_NOFILE))
"""
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [(512, 512, (512, 512, 512)), (512, 2048, (2048, 2048, 2048)), (512, HARD, None)],
)
def test_the_limit_is_raised_as_far_as_a_user_may(soft, hard, expected):
    if HARD != resource.RLIM_INFINITY and max(soft, hard) > HARD:
        pytest.skip(f"no process may open {hard} files here ({HARD})")
    words = [sys.executable, "-c", LIMITS, str(soft), str(hard)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    told, raised, kept = map(int, done.stdout.split())
    assert told == raised and kept == hard, "the hard limit stays as it is"
    if expected:
        assert (told, raised, kept) == expected
    else:
        assert 512 <= told <= host.ENOUGH_FILES


def test_more_than_enough_is_left_alone(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (100_000, 200_000))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: pytest.fail(str(limits)))
    assert host.attainable_file_limit() == 100_000
    host.raise_file_limit()


def test_without_limits_there_is_enough(monkeypatch):
    endless = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda which: (endless, endless))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: pytest.fail(str(limits)))
    assert host.attainable_file_limit() == host.ENOUGH_FILES
    host.raise_file_limit()
