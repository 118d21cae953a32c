"""Why were messages slow or lost? The slowest messages, each with its cause and the evidence, and
the places where messages were lost. Imports `metrics` and `records`."""
