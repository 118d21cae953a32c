"""A module per verb, each with `register(app)`."""
