"""The verbs of suites, campaigns and robots: a module per verb, each with `register(app)`. `main` has
which verbs lie in another folder."""
