"""Surveys with answers on an ordered scale: read by their values, compared by order, shown as
aggregates alone."""
