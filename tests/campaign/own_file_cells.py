"""Suites of one arm whose profile is a file of `own_files/`: what people have on their robots, each
reduced to its one peculiarity. `tcp-peer` and `other-address` are what the answers to two of them
say to add, and `broken` is no XML."""

from pathlib import Path

from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse

FILES = Path(__file__).parent / "own_files"
SUITE = """
suite: mine
title: a test
blocks: {{planned: 1, minimum: 1}}
timeline: {{warmup_s: 0.2, drain_s: 0.3, steady_s: 0.4}}
arms:
  - {{name: mine, middleware: {middleware}, profile: {file}{more}}}
networks:
  thin: {{}}
workloads:
  - {{name: w, message: Array1k, rate_hz: 100{hosts}}}
"""
TWO_HOSTS = ", hosts: [robot, base], network: thin"


def middleware_of(name: str) -> str:
    return Path(name).stem.rpartition("-")[2]


def suite(name: str, *, hosts: str = "", more: str = "", middleware: str | None = None) -> str:
    """`name` is a file's, `WHAT-MIDDLEWARE.SUFFIX`."""
    middleware = middleware or middleware_of(name)
    return SUITE.format(middleware=middleware, file=FILES / name, hosts=hosts, more=more)


def cell(name: str, *, hosts: str = "", more: str = "", middleware: str | None = None) -> Cell:
    text = suite(name, hosts=hosts, more=more, middleware=middleware)
    return cells(parse(text, where="mine.yaml", directory=FILES))[0]
