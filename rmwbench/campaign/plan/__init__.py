"""What will run? A suite in; an ordered list of trials out, with what it costs, what cannot run and
why. Everything is checked here before anything is written."""
