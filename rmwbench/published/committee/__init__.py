"""The report of a committee: its sections are planned over a budget, run as campaigns, and written
as one document."""
