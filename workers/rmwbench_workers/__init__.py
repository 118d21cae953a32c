"""Workers in Python: what a Python program pays for a middleware. Schedule, recorder and protocol
are the harness's own library, through its C header, so a Python worker is measured exactly as every
other."""
