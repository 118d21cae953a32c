"""How fast the instrument itself is: runs the bench programs one after another and holds their
ratios against the limits that the project promises. `python -m bench`, or `make bench`; what the
numbers mean: docs/benchmarks.md."""
