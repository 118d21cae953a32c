"""The shipped claims files, each read once per process: reading all takes a second."""

from rmwbench.evaluations.claims.about import sources
from rmwbench.evaluations.claims.model import load

FILES = {name: load(name) for name in sources()}
