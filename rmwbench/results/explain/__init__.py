"""Why: of each arm the path of its bytes, where messages were lost, what made the slowest slow."""
