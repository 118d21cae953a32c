"""Which tables does a trial leave? Its outcome in; tables of the bundle out."""
