"""Verbs of a user's own robot: a module per verb, each with `register(app)`."""
