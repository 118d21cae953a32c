"""Campaigns for open claims: which cells decide them, what fits into a budget, and the run."""
