"""The shipped claims files, each read once per process: reading all takes a second."""

from rmwbench.published.claims.claims_file import load, sources

FILES = {name: load(name) for name in sources()}
