"""How far apart the dates of two things may be until they describe different times."""

FAR_APART_DAYS = 548
"""18 months (rule 8 of the design)."""
