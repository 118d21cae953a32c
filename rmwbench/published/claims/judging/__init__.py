"""Does a claim hold here? Its tests and campaigns go in, and the answers of each machine and layer
come out. Pure."""
