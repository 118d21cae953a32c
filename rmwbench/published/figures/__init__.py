"""Published figures, drawn again: read (`figures_file`), with the points of each version
(`versions`), measured here (`measured_points`), and as charts and a page."""
