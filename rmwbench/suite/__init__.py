"""Suite files: what is run, as people write it, and the cells that follow from it.

A suite is YAML validated by pydantic models (`suite.py` and the nouns beside it).
`load.load(NAME_OR_PATH)` reads one and words every mistake with its file and line;
`cells.cells(SUITE)` crosses workloads, factors and arms into what a trial runs.
"""
