"""The command line: verbs only. Each verb is a module with `register(app)`; what it does is
imported when it runs."""
