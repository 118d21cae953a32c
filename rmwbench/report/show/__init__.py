"""What `rmwbench show` and `rmwbench report` say of a campaign, as one view."""
