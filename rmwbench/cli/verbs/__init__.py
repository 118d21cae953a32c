"""The verbs of suites and campaigns: a module per verb, each with `register(app)`. `main` has which
verbs lie in another folder."""
