"""The command line: verbs only. Each verb is a module with `register(app)`, whose function imports
the other packages when it runs."""
