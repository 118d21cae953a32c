"""Two campaigns, or two parts of one, side by side: environment first, then what may be
compared."""
