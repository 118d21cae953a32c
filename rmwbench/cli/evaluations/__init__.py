"""The verbs of the published evaluations, and of the next one (`evaluate`). A module per verb, each
with `register(app)`."""
