"""Claims: read (`model`), judged against show documents (`judge`, `values`, `rules`), gathered into
the ledger (`document`, `state`), and shown (`markdown`, `render`). `campaign` runs what open claims
need."""
