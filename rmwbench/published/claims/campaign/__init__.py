"""Campaigns for open claims: the cells that decide them, what fits into a budget, and the run."""
