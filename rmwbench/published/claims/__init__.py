"""Claims: read (`claims_file`), judged against campaigns (`judging`), gathered into the ledger
(`claims_ledger`), and shown (`ledger_view`, `claim_items`). `campaign` runs what open claims need."""
