"""Why: paths, losses and tails of a campaign, for a person or a script."""
