"""Which trials will run? A suite in; an ordered list of trials out, with their time, and the cells
that cannot run with the reason. Everything is checked here before anything is written."""
