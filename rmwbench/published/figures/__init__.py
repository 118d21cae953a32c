"""Published figures, drawn again: read (`figures_file`), with their points as published, as corrected
and as measured here (`figure_points`), and as charts and a page."""
