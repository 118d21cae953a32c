"""The shipped claims files, each read once per process: reading all takes a second."""

from rmwbench.evaluations.claims.model import load
from rmwbench.evaluations.claims.named import sources

FILES = {name: load(name) for name in sources()}
