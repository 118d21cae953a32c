"""Simulations ask what is claimed, and never how long a campaign would have to be to claim more,
which takes a third of a judgement; tests/analysis/test_resolution.py and test_compare.py ask it."""

import pytest

from rmwbench.analysis.verdicts import wording


@pytest.fixture(autouse=True)
def no_forecast(monkeypatch):
    monkeypatch.setattr(wording, "_minutes", lambda *_: (None, ""))
