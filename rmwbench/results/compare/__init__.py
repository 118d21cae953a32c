"""Two campaigns, or two parts of one: what differs in their environment, and metric by metric."""
