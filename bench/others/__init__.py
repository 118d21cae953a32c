"""How wrong are others? Other measuring tools read beside our ledger on the same traffic, and our
records evaluated as others evaluate theirs. `python -m bench others`; what the tables mean:
docs/other-tools.md."""
