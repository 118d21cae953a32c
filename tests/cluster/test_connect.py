"""What keeps a campaign from a cluster, said before Ray is even imported."""

import importlib.util
import socket

import pytest

from rmwbench.bundle import BundleWriter
from rmwbench.campaign import start
from rmwbench.cluster.connect import connect, nodes
from rmwbench.errors import UserError
from tests.support.command import exit_code


@pytest.fixture
def installed(monkeypatch):
    """Says which of Ray and its client are there, whatever is."""

    def say(*names):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: name if name in names else None
        )

    return say


def test_without_ray_it_says_what_to_install(installed):
    installed()
    with pytest.raises(UserError, match="not installed") as raised:
        connect("auto")
    assert raised.value.fix == "pip install 'rmwbench[cluster]'"


def test_rays_client_needs_its_own_package(installed):
    installed("ray")
    with pytest.raises(UserError, match="Ray's client") as raised:
        connect("ray://127.0.0.1:10001")
    assert "grpcio" in raised.value.actual


@pytest.mark.parametrize("address", ["nonsense", "host", "host:", ":6379", "host:port"])
def test_what_is_not_an_address(installed, address):
    installed("ray")
    with pytest.raises(UserError, match="not an address of a Ray cluster"):
        connect(address)


def test_where_nobody_listens_ray_is_not_asked(installed):
    """It would try the address for minutes; here it is not even installed."""
    installed("ray", "grpc")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
        with pytest.raises(UserError, match="cannot reach this Ray cluster") as raised:
            connect(address)
        assert "refused" in raised.value.actual.lower()


def test_a_name_that_no_host_can_have_is_not_reached(installed):
    installed("ray", "grpc")
    with pytest.raises(UserError, match="cannot reach this Ray cluster"):
        connect("head..local:6379")


class Ray:
    def __init__(self, *machines):
        self._found = [
            {"Alive": alive, "NodeName": name, "NodeID": name, "Resources": amounts}
            for name, alive, amounts in machines
        ]

    def nodes(self):
        return self._found


def test_machines_for_work_are_used_or_those_that_are_named():
    head, dead, work = (
        ("head", True, {}),
        ("dead", False, {"CPU": 4.0}),
        ("work", True, {"CPU": 4.0}),
    )
    assert [node["NodeName"] for node in nodes(Ray(work, head, dead))] == ["work"]
    named = ("named", True, {"CPU": 2.0, "rmwbench": 1.0})
    assert [node["NodeName"] for node in nodes(Ray(work, named, head))] == ["named"]
    assert nodes(Ray(head)) == []


def test_another_filesystem_is_for_clusters(capsys):
    code = exit_code("run", "quick", "--out", "s3://bucket/campaign")
    assert code == 2 and "--cluster ADDRESS" in capsys.readouterr().err


class Lab:
    def document(self):
        return {"cluster": {}}


def test_a_campaign_is_resumed_where_it_began(tmp_path):
    BundleWriter.create(tmp_path / "here", {"campaign": "x"}).close()
    BundleWriter.create(tmp_path / "there", {"campaign": "x", "cluster": {}}).close()
    with pytest.raises(UserError, match="began here"):
        start.resumed_campaign(tmp_path / "here", lab=Lab())
    with pytest.raises(UserError, match="machines of a cluster") as raised:
        start.resumed_campaign(tmp_path / "there")
    assert "--cluster ADDRESS" in raised.value.fix
