"""The `create` that cells make has the fields of the protocol's corpus, which the workers test
against too."""

import json
from pathlib import Path

import pytest

from rmwbench.suite.cells import cells

from .suite_text import suite

GOLDEN = Path(__file__).parents[2] / "docs/formats/golden/protocol.jsonl"


def fields_of_corpus() -> dict[str, set[str]]:
    """Field names by object: endpoints and arrivals by kind, `type` and `qos`."""
    keys_of_kind: dict[str, set[str]] = {}
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        command = json.loads(line).get("line")
        if isinstance(command, dict) and command.get("cmd") == "create":
            for node in command["nodes"]:
                for endpoint in node["endpoints"]:
                    collect(keys_of_kind, endpoint)
    return keys_of_kind


def collect(keys_of_kind: dict[str, set[str]], endpoint: dict) -> None:
    keys_of_kind.setdefault(endpoint["kind"], set()).update(endpoint)
    for part in ("type", "qos"):
        keys_of_kind.setdefault(part, set()).update(endpoint[part])
    if "arrival" in endpoint:
        keys_of_kind.setdefault(endpoint["arrival"]["kind"], set()).update(endpoint["arrival"])


@pytest.mark.parametrize(
    "arrival",
    [
        "{kind: periodic, rate_hz: 100}",
        "{kind: poisson, rate_hz: 100}",
        "{kind: burst, rate_hz: 100, count: 2}",
        "{kind: trace, offsets_ns: ["
        + ", ".join(str(600_000_000 + 1000 * k) for k in range(30))
        + "]}",
        "{kind: saturation, limit: 1000}",
    ],
)
def test_fields_are_those_of_the_corpus(arrival):
    corpus = fields_of_corpus()
    raw = ("middleware: floor}", "middleware: floor, take: raw}")  # what is not asked is not sent
    cell = cells(suite(("rate_hz: 1000", f"arrival: {arrival}\n    relays: 1"), raw))[0]
    keys_of_kind: dict[str, set[str]] = {}
    for process in cell.processes:
        for node in cell.create_command(process.name):
            assert set(node) == {"name", "endpoints"}
            for endpoint in node["endpoints"]:
                collect(keys_of_kind, endpoint)
    assert {"publisher", "subscription", "relay", "type", "qos"} < set(keys_of_kind)
    for name, fields in keys_of_kind.items():
        assert fields == corpus[name], name


def test_fields_of_clients_and_services_are_those_of_the_corpus():
    corpus = fields_of_corpus()
    calls = "clients: 1\n    request: Bytes(64)\n    reply: Bytes(64)\n    rate_hz: 100"
    cell = cells(suite(("message: Bytes(320)\n    rate_hz: 1000", calls)))[0]
    for process, kind in (("client", "client"), ("service", "service")):
        (endpoint,) = cell.create_command(process)[0]["endpoints"]
        assert set(endpoint) == corpus[kind] and set(endpoint["reply_type"]) == corpus["type"]
