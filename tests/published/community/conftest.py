"""No request of these tests leaves the machine: names are not resolved, and the loopback is never
proxied."""

import socket

import pytest

from tests.published.community.github_server import Api, serving


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    resolve = socket.getaddrinfo

    def refuse(host, *arguments, **options):
        assert host in ("127.0.0.1", "localhost"), f"a test asked for {host}"
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def api():
    return Api()


@pytest.fixture
def base(api):
    with serving(api) as address:
        yield address
