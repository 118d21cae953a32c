"""The suite file as people write it: found by name, read, and each mistake told with file and
line."""
