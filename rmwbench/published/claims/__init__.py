"""Claims of published evaluations: read (`claims_file`), judged against campaigns (`judging`),
gathered into the ledger (`claims_ledger`), shown (`ledger_view`, `claim_items`), and measured where
they are open (`claim_campaigns`)."""
