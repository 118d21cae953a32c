"""On which machine was a campaign measured, and how good is the instrument there? The input is a
campaign's machine and its newest calibration; the output is both as every answer has them.

Imports `bundle`, `words` and the models of `results`."""
