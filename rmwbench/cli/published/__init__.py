"""The verbs below `rmwbench published`: a module per verb, each with `register(app)`."""
