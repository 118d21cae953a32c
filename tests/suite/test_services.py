"""Services in suite files: the shorthand, nodes spelled out, and what contradicts itself."""

import pytest

from rmwbench.suite.cells import cells
from rmwbench.suite.workload.endpoints import RECEIVED, RECORD_SLACK, SENT

from .suite_text import error, nodes, suite

TYPED = "request: Bytes(64)\n    reply: Bytes(1024)"
CALLS = ("message: Bytes(320)\n    rate_hz: 1000", f"clients: 3\n    {TYPED}\n    rate_hz: 100")
SERVED = "{name: s, services: [{service: add, request: Bytes(64), reply: Bytes(100)}]}"


def only_cell(*changes):
    return cells(suite(*changes))[0]


def by_kind(cell):
    endpoints: dict[str, list] = {}
    for endpoint in cell.endpoints:
        endpoints.setdefault(endpoint.kind, []).append(endpoint)
    return endpoints


def test_clients_make_one_service_with_so_many_clients():
    cell = only_cell(CALLS)
    assert [p.name for p in cell.processes] == ["service", "client_1", "client_2", "client_3"]
    endpoints = by_kind(cell)
    (service,) = endpoints["service"]
    assert (
        service.topic == "w"
        and service.peers == (2, 3, 4)
        and all(c.peers == (1,) for c in endpoints["client"])
    )
    # 0.5 s of warm-up and 1 s, each client at the whole rate; the service answers each
    assert (
        [c.sent for c in endpoints["client"]]
        == [c.received for c in endpoints["client"]]
        == [150] * 3
    )
    assert (
        service.received == service.sent == 450
        and service.steady_messages == 300
        and cell.steady_messages == 100
    )


def test_both_kinds_send_and_read_and_only_the_client_has_a_schedule():
    cell = only_cell(CALLS)
    client, service = (cell.create_command(p)[0]["endpoints"][0] for p in ("client_1", "service"))
    assert client["arrival"]["kind"] == "periodic" and client["wait"] == service["wait"] == "block"
    assert "arrival" not in service and "loan" not in service and client["loan"] is False
    assert (client["matches"], service["matches"]) == (1, 3)
    assert cell.sections("client_1") == [
        (SENT, 2, 225 + RECORD_SLACK),
        (RECEIVED, 2, 225 + RECORD_SLACK),
    ]
    assert [kind for kind, *_ in cell.sections("service")] == [SENT, RECEIVED]
    assert cell.pairs == {1: (2, 3, 4), 2: (1,), 3: (1,), 4: (1,)}


@pytest.mark.parametrize(
    ("change", "words", "line"),
    [
        (("rate_hz: 1000", "rate_hz: 1000\n    clients: "
                           "2"), "`message` and `clients` contradict each other", 9),
        (("message: Bytes(320)", "clients: 2\n    reply: "
                                 "Bytes(64)"), "workload without `request`", 8),
        (("message: Bytes(320)", "clients: 2\n    request: "
                                 "Bytes(64)"), "workload without `reply`", 8),
        (("message: Bytes(320)", "message: Bytes(320)\n    request: "
                                 "Bytes(64)"), "`request` without a service", 10),
        (("message: Bytes(320)", "clients: 2\n    request: Array1k\n    reply: "
                                 "Bytes(64)"), "message of a service", 10),
        (("message: Bytes(320)", "clients: 2\n    request: Bytes(8)\n    reply: "
                                 "Bytes(64)"), "cannot carry", 10),
        (nodes("{name: k, clients: [{service: add}]}"), "no node serves `add`", 14),
        (nodes("{name: s, services: [{service: add, request: "
               "Bytes(64)}]}"), "without a type of its reply", 14),
        (nodes(SERVED, "{name: k, clients: [{servce: add}]}"), "unknown key `servce`", 15),
        (
            nodes(SERVED, "{name: k, clients: [{service: add, arrival: {kind: relay, from: x}}]}"),
            "a client does not relay",
            15,
        ),
        (nodes(SERVED, SERVED.replace("name: s", "name: t").replace("100", "200")), "has two types", 15),
        (
            nodes(SERVED, "{name: k, clients: [{service: add, rate_hz: 5, arrival: {kind: "
                          "saturation, limit: 9}}]}"),
            "`rate_hz` and `arrival` contradict",
            15,
        ),
    ],
)  # fmt: skip
def test_a_contradiction_is_told_with_its_line(change, words, line):
    mistake = error(change)
    assert words in mistake.what and mistake.where == f"f.yaml:{line}", str(mistake)
