"""Verdicts of arms: `best` compares all arms with the best one (what a report shows), `statements`
one arm with another (`rmwbench compare`, tuning, effects), `limit_outcomes` one with a limit,
`interim` judges a campaign under way. Imports `metrics` and `stats`."""
