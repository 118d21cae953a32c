"""The records of a trial: from their columns to the ledger of every message, replies matched with
requests, and all stamps on one clock. Imports no other part of `analysis`."""
