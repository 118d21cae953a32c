"""Every bad input that `make fuzz` once found to end ungracefully, and a few drawn at random."""

import json
import random

import pytest

from tests.badinput import fuzz


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    fuzz.warm()
    return fuzz.Material(tmp_path_factory.mktemp("fuzz"))


@pytest.fixture(scope="module")
def server():
    made = fuzz.Server()
    yield made
    made.end()


@pytest.mark.long
@pytest.mark.parametrize(
    "case", fuzz.corpus_cases(), ids=lambda case: f"{case['input']}-{case['verb'][0]}"
)
def test_what_was_found_once_ends_gracefully(server, case):
    assert server.outcome(case) is None, json.dumps(case)[:1000]


@pytest.mark.parametrize("number", range(12))
def test_what_is_drawn_ends_gracefully(server, material, number):
    case = fuzz.draw_case(random.Random(f"tests:{number}"), material)
    assert server.outcome(case) is None, json.dumps(case)[:1000]


def test_a_mistake_of_ours_would_be_found(material, monkeypatch):
    """The judge of the others: a verb that fails in a way that nobody foresaw, and one that
    hangs."""
    import time

    import rmwbench.bundle.sql as query

    case = {"input": "options", "verb": ["query", "select 1", "C"]}
    assert fuzz.outcome(case, material) is None
    monkeypatch.setattr(query, "ask", lambda *_: [][1])
    assert "IndexError" in str(fuzz.outcome(case, material))
    monkeypatch.setattr(query, "ask", lambda *_: time.sleep(60))
    monkeypatch.setattr(fuzz, "TIMEOUT_S", 1.0)
    assert "not ended within 1 s" in str(fuzz.outcome(case, material))
    monkeypatch.undo()
    # Works all the time, and never ends.
    monkeypatch.setattr(query, "ask", lambda *_: next(n for n in iter(int, 1) if n))
    monkeypatch.setattr(fuzz, "PROCESSOR_S", 2)
    assert fuzz.outcome(case, material) == "more than 2 s of a processor"
