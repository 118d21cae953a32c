"""From arms to verdicts: `best` compares all arms with the best one (what a report shows),
`regression` one arm with another (what `rmwbench compare` shows), `limits` one with a level,
`interim` a campaign under way.
Imports `metrics` and `stats`."""
