"""Verdicts of arms: `best` compares all arms with the best arm (the verdicts of a report),
`statements` one arm with another (`rmwbench compare`, tuning, effects), `limit_outcomes` an arm
with a limit, `interim` judges a campaign under way. Imports `metrics` and `stats`."""
