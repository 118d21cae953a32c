"""Claims of published evaluations: read (`claims_file`), judged against campaigns (`judging`),
gathered into the ledger (`claims_ledger`), and shown (`ledger_view`, `claim_items`). `campaign`
measures what open claims need."""
