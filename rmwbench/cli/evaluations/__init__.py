"""The verbs of the published evaluations."""
