"""The verbs of this machine: what spoils results on it, how well the instrument measures on it,
which middlewares are built on it, and what campaigns left on it. A module per verb, each with
`register(app)`."""
