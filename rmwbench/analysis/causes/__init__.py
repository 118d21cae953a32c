"""Why were messages slow or lost? The slowest messages with the evidence for a cause, and the
places where messages were lost. Imports `metrics` and `records`."""
