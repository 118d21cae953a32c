"""The path that the bytes took, attested by counters and evidence and not by a configuration."""
