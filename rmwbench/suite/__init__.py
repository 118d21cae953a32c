"""Suite files and the cells that follow from them.

A suite is YAML validated by pydantic models (`suite.py` and the modules beside it).
`file.load.load(NAME_OR_PATH)` reads one, and reports every mistake with its file and line;
`cells.cells(SUITE)` crosses workloads, factors and arms into the cells of trials.
"""
