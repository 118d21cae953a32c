"""Claims: read (`model`), judged against campaigns (`judge`, `values`, `rules`), gathered into
the ledger (`document`, `state`), and shown (`markdown`, `render`). `campaign` runs what open claims
need."""
