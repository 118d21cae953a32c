"""Published figures, drawn again: read (`model`), with the points of each answer (`document`),
measured here (`measured`), and as charts and a page."""
