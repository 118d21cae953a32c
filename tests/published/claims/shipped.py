"""The shipped claims files, each read once per process: reading all takes a second."""

from rmwbench.published.claims.claims_file import load
from rmwbench.published.claims.named import sources

FILES = {name: load(name) for name in sources()}
