"""What did a trial leave? Columns of records in; the ledger of every message, replies matched
with requests, and all stamps on one clock out. Imports no other part of `analysis`."""
