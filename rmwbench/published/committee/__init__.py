"""The report of a committee: its sections planned over a budget, run as campaigns, and written as
one document."""
