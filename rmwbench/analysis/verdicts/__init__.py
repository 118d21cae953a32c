"""From arms to verdicts: `best` compares all arms with the best one (what a report shows),
`statements` one arm with another (`rmwbench compare`, tuning, effects), `limits` one with a level,
`interim` a campaign under way.
Imports `metrics` and `stats`."""
