"""Where published data lies, and how it is read: archives, checksums, tables, what is plausible."""
