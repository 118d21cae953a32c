"""What `rmwbench explain` shows: paths, losses and tails of a campaign."""
