"""The ledger for a person: page, terminal, and the short form beside a campaign's report."""
