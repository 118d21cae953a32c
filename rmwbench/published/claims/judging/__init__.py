"""Does a claim hold here? Its tests and campaigns in, the answers of each machine and layer out.
Pure."""
