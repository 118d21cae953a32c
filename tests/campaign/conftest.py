"""What several tests of the campaign ask of the machine."""

import pytest

from rmwbench.lab import machine


@pytest.fixture
def any_machine(monkeypatch):
    """A busy machine, which would excuse any failure, is not what is tested."""
    monkeypatch.setattr(machine, "voids", lambda probes: [])
