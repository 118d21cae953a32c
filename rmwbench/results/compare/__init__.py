"""How do two campaigns, or two parts of one, differ? The input is two selections; the output is the
differences of their environments, and each metric of each pair of cells."""
