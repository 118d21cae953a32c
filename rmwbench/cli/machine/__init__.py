"""The verbs about this machine: its faults, the calibration of the instrument, its middlewares, and
the leftovers of campaigns. A module per verb, each with `register(app)`."""
